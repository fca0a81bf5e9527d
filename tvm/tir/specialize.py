"""Functions with values for some of their parameters: shapes, scalars, whole buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.support.compiled import mypyc_attr

from . import expr as e
from .buffer import Buffer
from .function import PrimFunc
from .functor import Substituter
from .op import arith as op


@mypyc_attr(native_class=False)
class SpecializeError(CheckError, ValueError):
    """A value that does not fit the parameter it is given for."""


@mypyc_attr(native_class=False)
class FixedPartError(SpecializeError, TypeError):
    """A part of a buffer that is no variable, or what is no parameter at all, is given a value."""


def specialize(func: PrimFunc, param_map: Mapping[e.Var, Any]) -> PrimFunc:
    """`func` with the parameters of `param_map` fixed.

    A scalar parameter is replaced by its value and disappears. A buffer parameter takes the shape,
    strides and offset of the given buffer where its own are symbolic.
    """
    values: dict[e.Var, PrimExpr] = {}
    given: dict[e.Var, Buffer] = {}
    for param, value in param_map.items():
        if not any(param is p for p in func.params):
            error = SpecializeError if isinstance(param, e.Var) else FixedPartError
            raise error(
                f"ValueError: Specialize expects param to be in PrimFunc's params, found "
                f"{param.name}; legal: {', '.join([p.name for p in func.params])}"
            )
        if isinstance(value, Buffer):
            _match_buffer(func, param, value, values)
            given[param] = value
        else:
            _match_scalar(func, param, value, values)
    return _rebuilt(func, values, given)


def _match_scalar(
    func: PrimFunc, param: e.Var, value: Any, values: dict[e.Var, PrimExpr]
) -> None:
    if param in func.buffer_map:
        raise SpecializeError(
            f"ValueError: Specialize expects {param.name}, a buffer, to be given a Buffer; found "
            f"{type(value).__name__}"
        )
    expr = e.as_expr(value)
    if isinstance(expr, e.IntImm):
        expr = e.make_const(expr.value, param.dtype)
    if expr.dtype is not param.dtype:
        raise SpecializeError(
            f"ValueError: Specialize expects {param.name} to be given a {param.dtype}; found "
            f"{expr.dtype}"
        )
    _unify(param, expr, values, param.name)


def _match_buffer(
    func: PrimFunc, param: e.Var, new: Buffer, values: dict[e.Var, PrimExpr]
) -> None:
    """Give values to the variables of the old buffer's shape; everything else must agree."""
    old = func.buffer_map.get(param)
    if old is None:
        raise SpecializeError(
            f"ValueError: Specialize expects {param.name} to be given an expression, it is no "
            "buffer; found a Buffer"
        )
    facts = (
        ("dtype", old.dtype, new.dtype),
        ("number of dimensions", len(old.shape), len(new.shape)),
        ("number of strides", len(old.strides), len(new.strides)),
        ("data_alignment", old.data_alignment, new.data_alignment),
        ("offset_factor", old.offset_factor, new.offset_factor),
        ("scope", old.scope(), new.scope()),
    )
    for name, was, now in facts:
        if was != now:
            raise SpecializeError(
                message(
                    f"ValueError: specialize buffer {old.name}: the {name} differs",
                    found=str(now),
                    legal=str(was),
                )
            )
    pairs = [*zip(old.shape, new.shape), *zip(old.strides, new.strides)]
    for was_expr, now_expr in [*pairs, (old.elem_offset, new.elem_offset)]:
        _unify(was_expr, now_expr, values, old.name)


def _unify(
    old: PrimExpr, new: PrimExpr, values: dict[e.Var, PrimExpr], where: str
) -> None:
    """The old expression takes the new value: a free variable, or something equal to it."""
    if structural_equal(old, new):
        return
    if not isinstance(old, e.Var):
        raise FixedPartError(
            message(
                f"ValueError: specialize {where}: an extent that is no variable cannot change",
                found=str(new),
                legal=str(old),
            )
        )
    value = op.cast(new, old.dtype)
    known = values.get(old)
    if known is None:
        values[old] = value
    elif not structural_equal(known, value):
        raise SpecializeError(
            message(
                f"ValueError: specialize {where}: {old.name} is given two values",
                found=f"{known} and {value}",
                legal="one value a variable",
            )
        )


class _Specializer(Substituter):
    """Replaces variables, folding what becomes literal."""

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        return _JOINS[type(op)](a, b, op.span)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        return _JOINS[type(op)](a, b, op.span)


_JOINS: Final[dict[type, Callable[..., PrimExpr]]] = {
    e.Add: op.add,
    e.Sub: op.subtract,
    e.Mul: op.multiply,
    e.Div: op.div,
    e.Mod: op.truncmod,
    e.FloorDiv: op.floordiv,
    e.FloorMod: op.floormod,
    e.Min: op.min_of,
    e.Max: op.max_of,
    e.EQ: op.equal,
    e.NE: op.not_equal,
    e.LT: op.less,
    e.LE: op.less_equal,
    e.GT: op.greater,
    e.GE: op.greater_equal,
}


def _rebuilt(
    func: PrimFunc, values: dict[e.Var, PrimExpr], given: Mapping[e.Var, Buffer]
) -> PrimFunc:
    if not values and all(func.buffer_map[param] is buffer for param, buffer in given.items()):
        return func
    rule = _Specializer(values)
    buffer_map: dict[e.Var, Buffer] = {}
    for param, old in func.buffer_map.items():
        # the variables that the function's body knows stay; only shapes change
        buffer_map[param] = rule.visit_buffer_def(old)
    params = [p for p in func.params if p not in values]
    body = rule.visit_stmt(func.body)
    return PrimFunc(params, body, func.ret_type, buffer_map, func.attrs, func.span)
