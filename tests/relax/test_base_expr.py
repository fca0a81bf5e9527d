"""What all expressions have in common: calls, items, facts read at run time."""

from __future__ import annotations

import pytest

from tvm import relax

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


def test_calling_a_function_variable() -> None:
    f = relax.Var("f", relax.FuncStructInfo([X.struct_info], X.struct_info))
    call = f(X)
    assert call.op is f
    assert call.args == (X,)


def test_calling_a_global_variable_with_relax_arguments() -> None:
    call = relax.GlobalVar("f")(X, relax.const(1))
    assert isinstance(call, relax.Call)
    assert len(call.args) == 2


def test_facts_of_a_tensor_are_calls() -> None:
    assert X.shape[1].op.name == "relax.inspect.tensor_shape_i"
    assert X.strides[0].op.name == "relax.inspect.tensor_stride_i"
    assert X.dtype.bits.op.name == "relax.inspect.tensor_dtype_bits"
    assert X.ndim.op.name == "relax.inspect.tensor_ndim"
    assert X.byte_offset.op.name == "relax.inspect.tensor_byte_offset"
    assert X.elem_offset.op.name == "relax.inspect.tensor_elem_offset"


def test_only_tensors_have_facts() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    with pytest.raises(TypeError, match=r"only tensors have \.dtype"):
        _ = shape.dtype


def test_expressions_are_compared_by_identity() -> None:
    other = relax.Var("x", X.struct_info)
    assert X == X
    assert X != other
    assert len({X, other}) == 2


def test_fields_of_what_does_not_tell_how_many_it_has() -> None:
    pair = relax.Var("pair", relax.TupleStructInfo([relax.PrimStructInfo("int64")] * 2))
    assert [field.index for field in pair] == [0, 1]
    assert tuple(relax.Tuple([pair])) == (pair,)
    for value in (relax.Var("x", relax.ObjectStructInfo()), relax.Var("y")):
        with pytest.raises(TypeError, match="no struct info that tells how many there are"):
            tuple(value)
