"""Products of fixed-point numbers, and what they are in plain arithmetic of 64 bits.

    q_multiply_shift(x, y, q, s)  ->  int32((int64(x) * int64(y) + (1 << (q - s - 1))) >> (q - s))
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e

from . import arith
from .declare import PURE, intrinsic
from .math import Operand

_q_multiply_shift = intrinsic("q_multiply_shift", PURE, 4, vectorizable=True)
_q_multiply_shift_per_axis = intrinsic("q_multiply_shift_per_axis", PURE, 7, vectorizable=True)


def q_multiply_shift(x: Operand, y: Operand, q: Operand, s: Operand) -> PrimExpr:
    """round(x * y * 2**(s - q)) of two int32 fixed-point numbers with q fractional bits."""
    return e.Call("int32", _q_multiply_shift, (x, y, q, s))


def q_multiply_shift_per_axis(
    x: Operand,
    y: Operand,
    ls: Operand,
    rs: Operand,
    q: Operand,
    is_lshift_required: Operand,
    is_rshift_required: Operand,
) -> PrimExpr:
    """q_multiply_shift with a left and a right shift of their own."""
    args = (x, y, ls, rs, q, is_lshift_required, is_rshift_required)
    return e.Call("int32", _q_multiply_shift_per_axis, args)


# --- in plain arithmetic ---


def _wide(value: PrimExpr, call: e.Call) -> PrimExpr:
    """An operand in 64 bits, with as many lanes as the result."""
    wide = arith.cast(value, DataType("int64").with_lanes(value.dtype.lanes))
    both = wide.dtype.is_scalar and call.dtype.is_vector
    return arith.broadcast_to(wide, call.dtype) if both else wide


def _rounded_shift(value: PrimExpr, by: PrimExpr) -> PrimExpr:
    """value / 2**by to the nearest, halves upwards; `by` is at least one."""
    one = arith.const(1, value.dtype)
    half = arith.shift_left(one, arith.subtract(by, one))
    return arith.shift_right(arith.add(value, half), by)


def _lower_q_multiply_shift(call: e.Call) -> PrimExpr:
    x, y, q, s = (_wide(arg, call) for arg in call.args)
    product, down = arith.multiply(x, y), arith.subtract(q, s)
    one, known = arith.const(1, down.dtype), arith.literal(down)
    if known is not None and known > 0:
        return arith.cast(_rounded_shift(product, down), call.dtype)
    up = arith.shift_left(product, arith.max_of(arith.negative(down), 0))
    if known is not None:
        return arith.cast(up, call.dtype)
    rounded = _rounded_shift(product, arith.max_of(down, one))
    return arith.cast(e.Select(arith.greater_equal(down, one), rounded, up), call.dtype)


def _lower_q_multiply_shift_per_axis(call: e.Call) -> PrimExpr:
    *numbers, needs_left, needs_right = call.args
    x, y, left, right, q = (_wide(arg, call) for arg in numbers)
    x = _where(needs_left, arith.shift_left(x, left), x)
    total = _where(needs_right, arith.add(q, right), q)
    return arith.cast(_rounded_shift(arith.multiply(x, y), total), call.dtype)


def _where(flag: PrimExpr, yes: PrimExpr, no: PrimExpr) -> PrimExpr:
    known = arith.literal(flag)
    if known is not None:
        return yes if known else no
    return e.Select(arith.not_equal(flag, arith.const(0, flag.dtype)), yes, no)


_q_multiply_shift.set_attr("default.FLowerIntrinsic", _lower_q_multiply_shift)
_q_multiply_shift_per_axis.set_attr(
    "default.FLowerIntrinsic", _lower_q_multiply_shift_per_axis
)
