"""Gradients of convolutions."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case, t
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm.relax import op
from tvm.relax.op.gradients import convolution

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(convolution), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)


# layouts, groups and symbols that the operators' own cases do not have
MORE = [
    Case("nn.conv2d", lambda x, w: op.nn.conv2d(
        x, w, 2, 1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NCHW"),
        (t(2, 7, 7, 3), t(4, 3, 3, 3)), 1e-4),
    Case("nn.conv2d", lambda x, w: op.nn.conv2d(
        x, w, 1, 1, data_layout="NCHW2c", kernel_layout="OIHW2i4o", out_layout="NCHW4c"),
        (t(1, 2, 5, 5, 2), t(1, 2, 3, 3, 2, 4)), 1e-4),
    Case("nn.conv2d", lambda x, w: op.nn.conv2d(x, w, 2, 1, groups=2),
         (t("n", 4, 6, 6), t(4, 2, 3, 3)), 1e-4),
    Case("nn.conv2d", lambda x, w: op.nn.conv2d(x, w, (2, 1), 1, (1, 2), groups=4),
         (t(2, 4, 6, 6), t(4, 1, 3, 3)), 1e-4),
    Case("nn.conv2d", lambda x, w: op.nn.conv2d(x, w, (2, 3), 1, groups=2),
         (t(2, 4, "n", "m"), t(4, 2, 3, 2)), 1e-4),
    Case("nn.conv1d", lambda x, w: op.nn.conv1d(
        x, w, 2, 1, 2, data_layout="NWC", kernel_layout="WIO"), (t("n", 9, 4), t(3, 4, 6)), 1e-4),
    Case("nn.conv3d", lambda x, w: op.nn.conv3d(
        x, w, 2, 1, data_layout="NDHWC", kernel_layout="DHWIO"),
        (t("n", 4, 5, 3, 2), t(2, 3, 3, 2, 4)), 1e-4),
    Case("nn.conv2d_transpose", lambda x, w: op.nn.conv2d_transpose(
        x, w, (2, 2), (1, 0), (1, 0), groups=2, data_layout="NHWC", kernel_layout="HWIO"),
        (t(2, 4, 3, 4), t(3, 2, 4, 3)), 1e-4),
]  # fmt: skip


@pytest.mark.parametrize("case", MORE, ids=str)
def test_layouts_and_groups(case: Case) -> None:
    check_slope(case)
