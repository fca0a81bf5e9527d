"""What all expressions have in common: calls, items, facts read at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm import relax
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import relax as R

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


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


_ANALYSES = (
    "all_global_vars", "all_vars", "bound_vars", "free_vars", "free_symbolic_vars",
    "defined_symbolic_vars", "contains_impure_call", "detect_recursion", "estimate_memory_usage",
    "get_static_type", "get_var2val", "has_reshape_pattern", "name_to_binding", "udchain",
    "remove_all_unused", "well_formed", "computable_at_compile_time",
)  # fmt: skip
_MAIN, _BB = Plain["main"], relax.BlockBuilder()
_TAKING: dict[str, Callable[[Any], object]] = {
    **{name: getattr(relax.analysis, name) for name in _ANALYSES},
    "post_order_visit": lambda v: relax.analysis.post_order_visit(v, lambda e: None),
    "derive": lambda v: relax.analysis.derive_call_ret_struct_info(v, v, _BB),
    "normalize": _BB.normalize,
    "lookup_binding": _BB.lookup_binding,
    "add_func": lambda v: _BB.add_func(v, "f"),
    "update_func": lambda v: _BB.update_func(v, _MAIN),
    "bind_params": _MAIN.bind_params,
    "bind_symbolic_vars": _MAIN.bind_symbolic_vars,
    "inline_functions": lambda v: _MAIN.inline_functions({"f": v}),
    "get_shape_of": relax.get_shape_of,
    "te_tensor": relax.expr.te_tensor,
    "build": lambda v: relax.build(v, "llvm"),
    "DataflowBlockRewrite": lambda v: relax.DataflowBlockRewrite(v, _MAIN),
    "has_attr": lambda v: relax.dpl.has_attr(v),
    "from_expr": IRModule.from_expr,
    "ConvertLayout": relax.transform.ConvertLayout,
    "BindSymbolicVars": lambda v: relax.transform.BindSymbolicVars(v)(Plain),
    "AlterOpImpl": lambda v: relax.transform.AlterOpImpl(v, {}, {}, {})(Plain),
    "LegalizeOps": lambda v: relax.transform.LegalizeOps(v)(Plain),
    "LiftTransformParams": lambda v: relax.transform.LiftTransformParams([v])(Plain),
}


@pytest.mark.parametrize("name", _TAKING)
@pytest.mark.parametrize("wrong", [3, object(), [1]])
def test_arguments_of_another_kind_are_refused_as_such(name: str, wrong: object) -> None:
    with pytest.raises(TypeError, match=r"found|takes|wanted|Expected|argument|legal"):
        _TAKING[name](wrong)
