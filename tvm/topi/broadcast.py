"""Operators on two operands, repeated along extents of one to a common shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr

from . import tag
from .common import is_one, known, same_extent, stage

Operand = Any  # te.Tensor, PrimExpr, int, float
Rule = Callable[[PrimExpr, PrimExpr], PrimExpr]


class Broadcasting:
    """The common shape of two shapes, and which axes of it each operand moves along."""

    def __init__(self, lhs: Sequence[Any], rhs: Sequence[Any]) -> None:
        ndim = max(len(lhs), len(rhs))
        left = [None] * (ndim - len(lhs)) + list(lhs)
        right = [None] * (ndim - len(rhs)) + list(rhs)
        self.shape: list[Any] = []
        self.left: list[bool] = []
        self.right: list[bool] = []
        for a, b in zip(left, right):
            extent, moves_left, moves_right = _joined(a, b, lhs, rhs)
            self.shape.append(_widened(extent, a, b))
            if a is not None:
                self.left.append(moves_left)
            if b is not None:
                self.right.append(moves_right)


def _widened(extent: Any, a: Any, b: Any) -> Any:
    """The extent with 64 bits where one of those that it came from has them."""
    given = [x for x in (a, b) if isinstance(x, PrimExpr)]
    widest = max((x.dtype.bits for x in given), default=0)
    if isinstance(extent, PrimExpr) and extent.dtype.bits < widest:
        return extent.astype(extent.dtype.with_bits(widest))
    return extent


def _joined(a: Any, b: Any, lhs: Sequence[Any], rhs: Sequence[Any]) -> tuple[Any, bool, bool]:
    """One extent of the common shape, and which side has all of it."""
    if a is None or b is None:
        return (b, False, True) if a is None else (a, True, False)
    if same_extent(a, b):
        return a, True, True
    if is_one(a):
        return b, False, True
    if is_one(b):
        return a, True, False
    if known(a) and known(b):
        raise ShapeError(
            message(
                f"Incompatible broadcast dims: {a} and {b}",
                found=f"shapes ({', '.join(map(str, lhs))}) and ({', '.join(map(str, rhs))})",
                legal="equal extents, or one of them 1",
            )
        )
    if known(a) or known(b):
        return (a if known(a) else b), True, True
    return te.max(a, b), True, True


@explained
def operand_indices(indices: Sequence[Any], moves: Sequence[bool]) -> list[Any]:
    """The indices into an operand: zero along the axes in which it is repeated."""
    own = list(indices)[len(indices) - len(moves) :]
    return [i if move else tir.const(0, i.dtype) for i, move in zip(own, moves)]


@explained
def broadcast_to(data: te.Tensor, shape: Sequence[Any]) -> te.Tensor:
    """`data` repeated to `shape`.   (..., 1, n) -> (..., m, n)"""
    joined = Broadcasting(data.shape, shape)
    if len(joined.shape) != len(shape):
        raise ShapeError(
            message(
                "broadcast_to",
                found=f"{len(data.shape)} dimensions, to be {len(shape)}",
                legal="a target with at least as many dimensions",
            )
        )
    for extent, wanted in zip(joined.shape, shape):
        if known(extent) and known(wanted) and not same_extent(extent, wanted):
            raise ShapeError(f"broadcast_to: extent {extent} does not become {wanted}")
    fill = len(shape) - len(data.shape)
    wanted_of = list(shape)[fill:]
    own_of = [*([None] * fill), *data.shape]
    widened = [_widened(as_expr(s), own, s) if known(s) else s for s, own in zip(shape, own_of)]

    def element(*i: Any) -> PrimExpr:
        own = operand_indices(i, joined.left)
        for axis, (extent, wanted) in enumerate(zip(data.shape, wanted_of)):
            if joined.left[axis] and not known(extent) and not same_extent(extent, wanted):
                # known to be 1, or not, where it runs
                zero = tir.const(0, own[axis].dtype)
                one = tir.const(1, extent.dtype)
                own[axis] = tir.Select(tir.EQ(extent, one), zero, own[axis])
        return data(*own)

    return stage(widened, element, "T_broadcast_to", tag.BROADCAST)


def _binary(lhs: Operand, rhs: Operand, rule: Rule, name: str) -> Any:
    """`rule` on tensors, on a tensor and a number, or on two numbers."""
    if isinstance(lhs, te.Tensor) and isinstance(rhs, te.Tensor):
        joined = Broadcasting(lhs.shape, rhs.shape)

        def element(*i: Any) -> PrimExpr:
            left, right = operand_indices(i, joined.left), operand_indices(i, joined.right)
            return rule(lhs(*left), rhs(*right))

        return stage(joined.shape, element, name, tag.BROADCAST)
    if isinstance(lhs, te.Tensor):
        number = as_expr(rhs)
        return stage(lhs.shape, lambda *i: rule(lhs(*i), number), name, tag.ELEMWISE)
    if isinstance(rhs, te.Tensor):
        number = as_expr(lhs)
        return stage(rhs.shape, lambda *i: rule(number, rhs(*i)), name, tag.ELEMWISE)
    return rule(as_expr(lhs), as_expr(rhs))


def _floor_quotient(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if a.dtype.is_integer and b.dtype.is_integer:
        return tir.floordiv(a, b)
    return tir.floor(tir.div(a, b))


def _floor_remainder(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if a.dtype.is_integer and b.dtype.is_integer:
        return tir.floormod(a, b)
    return a - _floor_quotient(a, b) * b


@explained
def add(lhs: Operand, rhs: Operand) -> Any:
    """lhs + rhs."""
    return _binary(lhs, rhs, lambda a, b: a + b, "T_add")


@explained
def subtract(lhs: Operand, rhs: Operand) -> Any:
    """lhs - rhs."""
    return _binary(lhs, rhs, lambda a, b: a - b, "T_subtract")


@explained
def multiply(lhs: Operand, rhs: Operand) -> Any:
    """lhs * rhs."""
    return _binary(lhs, rhs, lambda a, b: a * b, "T_multiply")


@explained
def divide(lhs: Operand, rhs: Operand) -> Any:
    """lhs / rhs; integers are rounded toward zero."""
    return _binary(lhs, rhs, tir.div, "T_divide")


@explained
def floor_divide(lhs: Operand, rhs: Operand) -> Any:
    """lhs / rhs rounded toward minus infinity."""
    return _binary(lhs, rhs, _floor_quotient, "T_floor_divide")


@explained
def log_add_exp(lhs: Operand, rhs: Operand) -> Any:
    """log(exp(lhs) + exp(rhs)) without overflow."""
    return _binary(lhs, rhs, tir.logaddexp, "T_log_add_exp")


@explained
def mod(lhs: Operand, rhs: Operand) -> Any:
    """The remainder of the division toward zero; it has the sign of lhs."""
    return _binary(lhs, rhs, _truncated_remainder, "T_mod")


def _truncated_remainder(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tir.fmod(a, b) if a.dtype.is_floating or b.dtype.is_floating else tir.truncmod(a, b)


@explained
def floor_mod(lhs: Operand, rhs: Operand) -> Any:
    """The remainder of the division toward minus infinity; it has the sign of rhs."""
    return _binary(lhs, rhs, _floor_remainder, "T_floor_mod")


@explained
def maximum(lhs: Operand, rhs: Operand) -> Any:
    """The larger of both."""
    return _binary(lhs, rhs, te.max, "T_maximum")


@explained
def minimum(lhs: Operand, rhs: Operand) -> Any:
    """The smaller of both."""
    return _binary(lhs, rhs, te.min, "T_minimum")


@explained
def power(lhs: Operand, rhs: Operand) -> Any:
    """lhs to the power rhs."""
    return _binary(lhs, rhs, tir.power, "T_power")


@explained
def left_shift(lhs: Operand, rhs: Operand) -> Any:
    """lhs << rhs."""
    return _binary(lhs, rhs, lambda a, b: a << b, "T_left_shift")


@explained
def right_shift(lhs: Operand, rhs: Operand) -> Any:
    """lhs >> rhs."""
    return _binary(lhs, rhs, lambda a, b: a >> b, "T_right_shift")


@explained
def greater(lhs: Operand, rhs: Operand) -> Any:
    """lhs > rhs."""
    return _binary(lhs, rhs, lambda a, b: a > b, "T_greater")


@explained
def less(lhs: Operand, rhs: Operand) -> Any:
    """lhs < rhs."""
    return _binary(lhs, rhs, lambda a, b: a < b, "T_less")


@explained
def equal(lhs: Operand, rhs: Operand) -> Any:
    """lhs == rhs."""
    return _binary(lhs, rhs, lambda a, b: a.equal(b), "T_equal")


@explained
def not_equal(lhs: Operand, rhs: Operand) -> Any:
    """lhs != rhs."""
    return _binary(lhs, rhs, lambda a, b: as_expr(a != b), "T_not_equal")


@explained
def greater_equal(lhs: Operand, rhs: Operand) -> Any:
    """lhs >= rhs."""
    return _binary(lhs, rhs, lambda a, b: a >= b, "T_greater_equal")


@explained
def less_equal(lhs: Operand, rhs: Operand) -> Any:
    """lhs <= rhs."""
    return _binary(lhs, rhs, lambda a, b: a <= b, "T_less_equal")


@explained
def logical_and(lhs: Operand, rhs: Operand) -> Any:
    """Both hold."""
    return _binary(lhs, rhs, tir.all, "T_logical_and")


@explained
def logical_or(lhs: Operand, rhs: Operand) -> Any:
    """At least one holds."""
    return _binary(lhs, rhs, tir.any, "T_logical_or")


def _exclusive(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a ^ b


@explained
def logical_xor(lhs: Operand, rhs: Operand) -> Any:
    """Exactly one holds; of integers, as in v0.22, the bits that one of them has."""
    return _binary(lhs, rhs, _exclusive, "T_logical_xor")


@explained
def bitwise_and(lhs: Operand, rhs: Operand) -> Any:
    """lhs & rhs."""
    return _binary(lhs, rhs, lambda a, b: a & b, "T_bitwise_and")


@explained
def bitwise_or(lhs: Operand, rhs: Operand) -> Any:
    """lhs | rhs."""
    return _binary(lhs, rhs, lambda a, b: a | b, "T_bitwise_or")


@explained
def bitwise_xor(lhs: Operand, rhs: Operand) -> Any:
    """lhs ^ rhs."""
    return _binary(lhs, rhs, lambda a, b: a ^ b, "T_bitwise_xor")


@explained
def logical_not(data: Operand) -> Any:
    """It does not hold."""
    if not isinstance(data, te.Tensor):
        return as_expr(data).astype("bool") if not hasattr(data, "dtype") else tir.Not(data)
    return stage(data.shape, lambda *i: tir.Not(data(*i)), "T_logical_not", tag.ELEMWISE)


@explained
def bitwise_not(data: Operand) -> Any:
    """~data."""
    if not isinstance(data, te.Tensor):
        return tir.bitwise_not(data)
    return stage(data.shape, lambda *i: ~data(*i), "T_bitwise_not", tag.ELEMWISE)
