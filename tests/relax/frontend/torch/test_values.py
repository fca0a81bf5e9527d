"""What converters ask of values, without torch."""

from __future__ import annotations

import pytest

from tvm import relax, tir
from tvm.error import OpAttributeInvalid, OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch import values

n = tir.SizeVar("n", "int64")
x = relax.Var("x", relax.TensorStructInfo((2, n), "float16"))


def test_questions() -> None:
    assert values.rank(x) == 2
    assert values.sizes(x)[0] == 2
    assert values.sizes(x)[1] is n
    assert values.dtype_of(x) == "float16"
    assert values.axis_of(-1, 3) == 2
    assert values.axes_of((0, -1), 3) == [0, 2]
    assert values.axes_of([], 3) is None
    assert values.spread(3, 2) == [3, 3]
    assert values.product([2, 3]) == 6


def test_what_is_not_known_is_refused() -> None:
    unknown = relax.Var("y", relax.TensorStructInfo(None, "float32"))
    with pytest.raises(OpAttributeInvalid, match="the rank of a tensor"):
        values.rank(unknown)
    with pytest.raises(OpAttributeInvalid, match="the shape of a tensor"):
        values.sizes(unknown)
    with pytest.raises(OpAttributeUnImplemented, match=r"found: the shape \(2, n\)"):
        values.lengths(x, "a table")
    with pytest.raises(OpAttributeInvalid, match=r"legal: -2 \.\.\. 1"):
        values.axis_of(2, 2)
    with pytest.raises(OpAttributeInvalid, match="one tensor"):
        values.info(relax.Var("t", relax.TupleStructInfo([])))


def test_promotion() -> None:
    bb = BlockBuilder()
    whole = relax.Var("i", relax.TensorStructInfo((2, 1), "int32"))
    with bb.function("main", [x, whole]):
        a, b = values.promoted(bb, whole, 2.5)
        assert (values.dtype_of(a), values.dtype_of(b)) == ("float32", "float32")
        a, b = values.promoted(bb, whole, x)
        assert (values.dtype_of(a), values.dtype_of(b)) == ("float16", "float16")
        a, b = values.promoted_floats(bb, whole, 2)
        assert values.dtype_of(a) == "float32"
        assert values.dtype_of(values.floating(bb, x)) == "float16"
        assert values.dtype_of(values.tensor_of(bb, n)) == "int64"
        bb.emit_func_output(x)
