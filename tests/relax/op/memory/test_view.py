"""Views of memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import ShapeError, TVMError
from tvm.relax import interp, op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_shape_dtype_and_offset() -> None:
    assert shape_of(op.memory.view(var(N, 4), (N * 4,)))[0].dtype == "int64"
    assert info(op.memory.view(var(4), dtype="int32")).dtype == "int32"
    assert shape_of(op.memory.view(var(8), (4,), "float32", 16)) == (4,)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.memory.view(var(4), (8,)), "does not lie within the tensor"),
        (lambda: op.memory.view(var(4), (4,), None, 4), "does not lie within the tensor"),
        (lambda: op.memory.view(var(4), dtype="float64"), "does not lie within the tensor"),
    ],
)
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_meaning() -> None:
    x = var(4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        view = op.memory.view(x, (2, 2), "int16", 4)
        bb.emit_func_output(bb.emit(op.memory.ensure_zero_offset(view)))
    data = np.arange(4, dtype="float32")
    expected = np.frombuffer(data.tobytes()[4:12], "int16").reshape(2, 2)
    np.testing.assert_array_equal(interp.run(bb.get(), data), expected)


K = tir.Var("k", "int64")


def untyped(*shape: object) -> relax.Var:
    return relax.Var("x", relax.TensorStructInfo(shape or None, None))


@pytest.mark.parametrize(
    "call",
    [
        lambda: op.memory.view(untyped(6), (7,)),
        lambda: op.memory.view(untyped(K), (K + 2,)),
        lambda: op.memory.view(untyped(K), (K // 2 + 1, 2)),
        lambda: op.memory.view(untyped(), relative_byte_offset=8),
        lambda: op.memory.view(var(dtype="int8"), dtype="int32"),
        lambda: op.memory.view(var(16), (8,), None, 36),
        lambda: op.memory.view(var(16), (8,), None, -4),
    ],
)
def test_views_that_are_sure_to_leave_the_tensor(call: object) -> None:
    with pytest.raises(ShapeError, match="does not lie within the tensor"):
        info(call())


def test_views_that_may_lie_within() -> None:
    info(op.memory.view(untyped(6), (6,)))
    info(op.memory.view(untyped(K), (K // 2, 2)))
    info(op.memory.view(untyped(), (6,), None, 8))
    info(op.memory.view(var(16), (8,), None, 32))
    smaller = info(op.memory.view(relax.Var("x", relax.TensorStructInfo((4,), "int32")),
                                  dtype="int8"))  # fmt: skip
    assert (smaller.dtype, [int(e) for e in smaller.values]) == ("int8", [4])
