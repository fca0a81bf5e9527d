"""Powers of whole numbers in plain arithmetic: exact where a float would round.

    pow(x, y)  ->  product of x**(2**k) over the bits k that are set in y; 0 where y is negative

Squares and products wrap around as all arithmetic of the type does. (Knuth, The Art of Computer
Programming, volume 2, section 4.6.3: the binary method, from right to left.)
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

from . import arith
from .math import _pow


def _lower_power(call: e.Call) -> PrimExpr | None:
    if not call.dtype.is_integer or call.dtype.is_scalable:
        return None
    base, power = call.args
    known = arith.literal(power)
    lets: list[tuple[e.Var, PrimExpr]] = []

    def named(name: str, value: PrimExpr) -> PrimExpr:
        lets.append((e.Var(name, value.dtype), value))
        return lets[-1][0]

    one, zero = (_all(number, call) for number in (1, 0))
    if known is None:
        power = named("power", power)
    result, square = one, named("square", base)
    bits = call.dtype.bits if known is None else max(int(known), 0).bit_length()
    for bit in range(bits):
        if known is None:
            taken = arith.bitwise_and(arith.shift_right(power, _all(bit, call)), one)
            product = arith.multiply(result, square)
            chosen = e.Select(arith.not_equal(taken, zero), product, result)
            result = named(f"product_{bit}", chosen)
        elif int(known) >> bit & 1:
            result = named(f"product_{bit}", arith.multiply(result, square))
        if bit + 1 < bits:
            square = named(f"square_{bit}", arith.multiply(square, square))
    if known is not None and known < 0:
        result = zero
    elif known is None and call.dtype.is_int:
        result = e.Select(arith.less(power, zero), zero, result)
    for var, value in reversed(lets):
        result = e.Let(var, value, result, call.span)
    return result


def _all(number: int, call: e.Call) -> PrimExpr:
    """The number in each lane."""
    value = e.make_const(number, call.dtype.element_of())
    return arith.broadcast_to(value, call.dtype) if call.dtype.is_vector else value


_pow.set_attr("default.FLowerIntrinsic", _lower_power)
