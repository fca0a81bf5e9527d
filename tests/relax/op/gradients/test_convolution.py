"""Gradients of convolutions."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case, t
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm import relax
from tvm.ir.structural import assert_structural_equal
from tvm.relax import op
from tvm.relax.op.gradients import convolution
from tvm.script import ir as I
from tvm.script import relax as R

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


def test_the_weight_slides_over_images_as_channels() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((2, 4, 8, 8), "float32"), w: R.Tensor((6, 2, 3, 3), "float32")):
            with R.dataflow():
                y = R.nn.conv2d(x, w, strides=2, padding=1, groups=2)
                s = R.sum(y)
                R.output(s)
            return s

    @R.function
    def main_adjoint(x: R.Tensor((2, 4, 8, 8), "float32"), w: R.Tensor((6, 2, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, strides=2, padding=1, groups=2)
            s = R.sum(y)
            s_adjoint = R.ones(R.shape([]), dtype="float32")
            y_adjoint = R.broadcast_to(s_adjoint, R.shape([2, 6, 4, 4]))
            x_adjoint = R.nn.conv2d_transpose(
                y_adjoint, w, strides=2, padding=1, output_padding=1, groups=2
            )
            a = R.reshape(x, R.shape([2, 2, 2, 8, 8]))
            b = R.permute_dims(a, axes=[1, 0, 2, 3, 4])
            c = R.reshape(b, R.shape([4, 2, 8, 8]))
            d = R.nn.conv2d(
                c, y_adjoint, padding=1, dilation=2, groups=2,
                data_layout="CNHW", kernel_layout="IOHW", out_layout="CNHW",
            )
            w_adjoint = R.strided_slice(d, [0, 1, 2, 3], [0, 0, 0, 0], [6, 2, 3, 3])
            x_out = x_adjoint
            w_out = w_adjoint
            R.output(s, x_out, w_out)
        return (s, (x_out, w_out))  # fmt: skip

    made = relax.transform.Gradient("main")(Mod)
    assert_structural_equal(made["main_adjoint"], main_adjoint)
