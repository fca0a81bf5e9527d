"""What Python's operators mean on Relax expressions: calls of the operators of that name.

The operators stand a floor above the words; they are asked for by name when one is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from tvm.ir.attrs import Attrs
from tvm.ir.expr import OPERATORS, RelaxExpr
from tvm.ir.op import Op

from .expr import Call, TupleGetItem, convert_to_expr
from .struct_info import ObjectStructInfo, TensorStructInfo


def make_call(op_name: str, *args: Any) -> RelaxExpr:
    """The call that the operator's Python function makes of the arguments."""
    build: Callable[..., RelaxExpr] = Op.get(op_name).get_attr("FMakeCall")
    return build(*args)


def _operand(value: object) -> RelaxExpr:
    if isinstance(value, RelaxExpr):
        return value
    if isinstance(value, Number):
        raise TypeError(f"Please convert {value} with `const` first: relax.const({value})")
    raise TypeError(
        f"type {type(value).__name__} is not supported as an operand of a Relax expression; "
        "legal: a Relax expression"
    )


def _binary(op_name: str) -> Callable[[object, object], RelaxExpr]:
    return lambda lhs, rhs: make_call(op_name, _operand(lhs), _operand(rhs))


def _unary(op_name: str) -> Callable[[object], RelaxExpr]:
    return lambda value: make_call(op_name, _operand(value))


def _astype(value: RelaxExpr, dtype: Any, span: object = None) -> RelaxExpr:
    return make_call("relax.astype", value, dtype)


def _call(func: RelaxExpr, args: tuple[Any, ...], attrs: Attrs | None) -> RelaxExpr:
    return Call(func, [convert_to_expr(arg) for arg in args], attrs)


def _call_global(func: RelaxExpr, *args: Any) -> RelaxExpr:
    return _call(func, args, None)


def _inspected(name: str) -> Callable[[RelaxExpr], object]:
    """A view of, or a call for, a fact about a tensor at run time; only tensors have them."""

    def read(expr: RelaxExpr) -> object:
        info = expr.struct_info_
        if not isinstance(info, (TensorStructInfo, ObjectStructInfo)):
            kind = type(expr).__name__
            raise TypeError(f"only tensors have .{name}; the struct info of this {kind} is {info}")
        Op.get("relax.inspect.tensor_ndim")  # loads the operators, which bring the views
        return OPERATORS["relax"][f"view_{name}"](expr)

    return read


BINARY = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "floordiv": "floor_divide",
    "mod": "mod",
    "power": "power",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "equal": "equal",
    "not_equal": "not_equal",
    "left_shift": "left_shift",
    "right_shift": "right_shift",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}

OPERATORS["relax"].update(
    {
        **{name: _binary(f"relax.{op}") for name, op in BINARY.items()},
        "negative": _unary("relax.negative"),
        "bitwise_not": _unary("relax.bitwise_not"),
        "astype": _astype,
        "call": _call,
        "call_global": _call_global,
        "getitem": TupleGetItem,
        **{
            f"inspect_{name}": _inspected(name)
            for name in ("dtype", "shape", "strides", "ndim", "byte_offset", "elem_offset")
        },
    }
)
