from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi

pytestmark = pytest.mark.pure


def test_nearest() -> None:
    x, v = floats(1, 2, 3, 4), floats(1, 2, 2, 3, 2)
    wanted = x.repeat(2, 2).repeat(3, 3)
    close(evaluate(lambda a: topi.nn.upsampling(a, 2, 3), x), wanted)
    op = lambda a: topi.nn.upsampling(a, 2, 3, "NHWC")
    close(evaluate(op, x.transpose(0, 2, 3, 1).copy()), wanted.transpose(0, 2, 3, 1))
    volume = lambda a: topi.nn.upsampling3d(
        a, 2, 2, 2, coordinate_transformation_mode="asymmetric"
    )  # fmt: skip
    close(evaluate(volume, v), v.repeat(2, 2).repeat(2, 3).repeat(2, 4))


def test_linear() -> None:
    x = np.arange(4, dtype="float32").reshape(1, 1, 1, 4)
    got = evaluate(lambda a: topi.nn.upsampling(a, 1, 2, method="bilinear"), x)
    close(got[0, 0, 0], np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 3]))
    corners = evaluate(lambda a: topi.nn.upsampling(a, 1, 1.75, "NCHW", "bilinear", True), x)
    close(corners[0, 0, 0], np.linspace(0, 3, 7), 1e-5, 1e-5)
    with pytest.raises(ValueError, match=r"layout HWCN"):
        topi.nn.upsampling(te.placeholder((1, 2, 3, 4)), 2, 2, "HWCN")


def test_sizes_are_rounded_to_the_nearest() -> None:
    x = te.placeholder((1, 1, 9, 7))
    found = topi.nn.upsampling(x, 1.5, 1.5)  # 13.5 and 10.5: to the even number
    assert [int(extent) for extent in found.shape[2:]] == [14, 10]
