"""Passes that replace calls one by one: canonical, fast, static, legal and simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant, const
from tvm.relay.function import Function
from tvm.relay.op import nn
from tvm.relay.traverse import transform
from tvm.relay.ty import TensorType, is_dynamic

from .function_pass import expr_pass

Rule = Callable[[Call, Call], RelaxExpr]


def rewrite_calls(root: RelaxExpr, rules: Mapping[str, Rule]) -> RelaxExpr:
    """`root` with `rules[op](old, new)` instead of calls of the named operators."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(new.op, Op) and isinstance(old, Call):
            chosen = rules.get(new.op.name)
            if chosen is not None:
                return chosen(old, new)
        return new

    return transform(root, rule)


def _bias_add(old: Call, new: Call) -> RelaxExpr:
    found = old.args[0].checked_type
    assert isinstance(found, TensorType), "the operator takes tensors"
    rank = len(found.shape)
    attrs: Any = new.attrs
    behind = rank - 1 - int(attrs.axis) % rank
    bias = new.args[1]
    made: RelaxExpr = R.add(new.args[0], R.expand_dims(bias, 1, behind) if behind else bias)
    return made


@expr_pass("CanonicalizeOps", opt_level=3)
def CanonicalizeOps(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """`nn.bias_add` as `expand_dims` and `add`, which simplification and fusion know."""
    return with_plain_biases(func)


def with_plain_biases(func: RelaxExpr) -> RelaxExpr:
    """Biases as additions; `func` has types."""
    return rewrite_calls(func, {"nn.bias_add": _bias_add})


_FAST: Final[dict[str, Rule]] = {
    "exp": lambda old, new: R.fast_exp(new.args[0]),
    "tanh": lambda old, new: R.fast_tanh(new.args[0]),
    "erf": lambda old, new: R.fast_erf(new.args[0]),
    "nn.softmax": lambda old, new: nn.fast_softmax(new.args[0], new.attrs["axis"]),  # type: ignore[index,arg-type]
}


@expr_pass("FastMath", opt_level=4)
def FastMath(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Exponentials, hyperbolic tangents, error functions and softmax in their less exact form."""
    return rewrite_calls(func, _FAST)


@expr_pass("DynamicToStatic", opt_level=2)
def DynamicToStatic(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Operators whose shape turns out to be constant, in their form with a known shape."""
    from .fold_constant import _Folder
    from .infer_type import infer_types_of

    while True:
        func = _Folder().run(infer_types_of(func, mod))
        func = infer_types_of(_open_result(func), mod)
        made = transform(func, _static)
        if made is func:  # no new form, so there is nothing new to fold
            return func
        func = made


def _static(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
    from tvm.relay.op.dynamic import static_form

    if not (isinstance(new, Call) and isinstance(new.op, Op)):
        return new
    found: RelaxExpr | None = static_form(new, new.args)
    return new if found is None else found


def _open_result(func: RelaxExpr) -> RelaxExpr:
    """A function whose result may turn out to be more precise than it was written."""
    if not isinstance(func, Function) or func.ret_type is None or not is_dynamic(func.ret_type):
        return func
    return Function(func.params, func.body, None, func.type_params, func.attrs, func.span)


@expr_pass("Legalize", opt_level=1)
def Legalize(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, legalize_map_attr_name: str = "FTVMLegalize"
) -> RelaxExpr:
    """Calls as the rules say that hang on their operators: `rule(attrs, inputs, types)`."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(new, Call) and isinstance(new.op, Op) and isinstance(old, Call)):
            return new
        chosen = new.op.get_attr(legalize_map_attr_name)
        if chosen is None:
            return new
        types = [*[arg.checked_type for arg in old.args], old.checked_type]
        found = chosen(new.attrs, list(new.args), types)
        return new if found is None else found

    return transform(func, rule)


@expr_pass("DivToMul", opt_level=0, required=["FoldConstant"])
def DivToMul(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Division by a constant as multiplication with its inverse."""

    def rule(old: Call, new: Call) -> RelaxExpr:
        below = new.args[1]
        if not isinstance(below, Constant) or not str(below.data.dtype).startswith("float"):
            return new
        made: RelaxExpr = R.multiply(
            new.args[0], const(1 / below.data.numpy(), str(below.data.dtype))
        )
        return made

    return rewrite_calls(func, {"divide": rule})
