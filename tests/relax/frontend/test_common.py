"""Padding that keeps the size, beside windows counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import relax, tir
from tvm.error import OpAttributeInvalid
from tvm.relax import interp
from tvm.relax.frontend.common import autopad

pytestmark = pytest.mark.pure


def padded(extents: tuple[int, ...], **options: object) -> np.ndarray:
    x = relax.Var("x", relax.TensorStructInfo((1, 1, *extents), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(autopad(bb, x, **options))
    return interp.run(bb.get(), np.ones((1, 1, *extents), "float32"))


@pytest.mark.parametrize("extent", [5, 6, 7, 8])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (2, 3, 1), (3, 2, 2)]
)
def test_windows_give_the_extent_over_the_stride(
    extent: int, kernel: int, stride: int, dilation: int
) -> None:
    options = {"strides": [stride], "kernel_shape": [kernel], "dilations": [dilation]}
    row = padded((extent,), **options)[0, 0]
    reach = (kernel - 1) * dilation + 1
    assert (len(row) - reach) // stride + 1 == -(-extent // stride)
    lower = padded((extent,), mode="SAME_LOWER", **options)[0, 0]
    np.testing.assert_array_equal(lower, row[::-1])
    assert row[0] or not row[-1]  # the larger half stands behind


def test_forms_of_padding() -> None:
    options = {"strides": [1, 1], "kernel_shape": [3, 2]}
    assert padded((2, 2), pad_value=7.0, **options)[0, 0].tolist() == [
        [7, 7, 7], [1, 1, 7], [1, 1, 7], [7, 7, 7]
    ]  # fmt: skip
    assert padded((3, 3), pad_type="edge", **options).min() == 1
    assert padded((3, 3), pad_type="reflect", **options).min() == 1
    transposed = padded((4,), strides=[1], kernel_shape=[4], dilations=[1], deconv=True)
    assert transposed.shape == (1, 1, 4)


@pytest.mark.parametrize(
    ("pad_type", "kernel", "place"),
    [
        ("constant", "pad", "T.if_then_else(T.int64(0) <= v_i2 and v_i2 < T.int64(4), x[v_i0, "),
        ("reflect", "mirror_pad", "x[v_i0, v_i1, T.if_then_else(T.int64(4) <= v_i2, T.int64(6)"),
        ("edge", "replicate_pad", "T.if_then_else(v_i2 < T.int64(0), T.int64(0), T.if_then_else("),
    ],
)
def test_padding_is_a_kernel(pad_type: str, kernel: str, place: str) -> None:
    x = relax.Var("x", relax.TensorStructInfo((1, 1, 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(autopad(bb, x, [2], [3], [1], pad_type))
    assert place in str(bb.get()[kernel])


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="'SAME_UPPER' or 'SAME_LOWER'"):
        padded((3,), strides=[1], kernel_shape=[2], mode="VALID")
    with pytest.raises(OpAttributeInvalid, match="'constant', 'edge', 'reflect'"):
        padded((3,), strides=[1], kernel_shape=[2], pad_type="wrap")
    x = relax.Var("x", relax.TensorStructInfo((1, 1, tir.Var("n", "int64")), "float32"))
    with pytest.raises(ValueError, match="extents that are numbers"):
        autopad(relax.BlockBuilder(), x, [1], [2])
