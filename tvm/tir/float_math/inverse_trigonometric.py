"""asin, acos, atan, atan2: polynomials on a short range, to which identities bring the rest."""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .steps import Steps

# atan(x) = x + x**3 * Q(x**2) on [0, tan(pi / 8)], relative error 0.01 ulp.
ATAN_Q: Final = {
    32: (
        -0.33333316445350647, 0.1999848484992981, -0.14243768155574799, 0.10595370829105377,
        -0.06081767380237579,
    ),
    64: (
        -0.333333333333332, 0.1999999999995378, -0.14285714280216047, 0.1111111078443298,
        -0.09090897785360277, 0.07692060695707788, -0.0666310934855098, 0.05847926401827349,
        -0.05039464501963819, 0.03806842302782196, -0.017911216785415074,
    ),
}  # fmt: skip
# asin(x) = x + x**3 * Q(x**2) on [0, 1/2], relative error 0.14 ulp.
ASIN_Q: Final = {
    32: (
        0.16666753590106964, 0.07495241612195969, 0.045477140694856644, 0.02414744347333908,
        0.04221878573298454,
    ),
    64: (
        0.16666666666665383, 0.0750000000034303, 0.04464285682348644, 0.030381959331221845,
        0.022371753523175338, 0.017359771106967372, 0.013884598543086974, 0.012173278266537392,
        0.006510860447914036, 0.019573879345865963, -0.01629401990415356, 0.0319589210816631,
    ),
}  # fmt: skip
TAN_PI_8: Final = 0.41421356237309503
TAN_3_PI_8: Final = 2.414213562373095
# pi / 2 as the nearest number and what it lacks; halves and doubles of it follow.
PI_HALF: Final = {
    32: (1.5707963705062866, -4.371138828673793e-08),
    64: (1.5707963267948966, 6.123233995736766e-17),
}


def atan(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The angle whose tangent is x."""
    x = steps.let("atan_x", x)
    a = steps.let("atan_a", steps.absolute(x))
    beyond = steps.let("atan_beyond", a > steps.const(TAN_3_PI_8))
    middle = steps.let("atan_middle", a > steps.const(TAN_PI_8))
    one = steps.const(1.0)
    over = steps.select(beyond, -one, steps.select(middle, a - one, a))
    under = steps.select(beyond, a, steps.select(middle, a + one, one))
    turn = steps.select(beyond, one, steps.select(middle, steps.const(0.5), steps.const(0.0)))
    turn = steps.let("atan_turn", turn)
    value = _atan_part(steps, over / under, turn)
    return steps.result(steps.with_sign_of(value, x))


def _atan_part(steps: Steps, t: PrimExpr, turn: PrimExpr) -> PrimExpr:
    """atan(t) + turn * pi / 2 for small t."""
    high, low = PI_HALF[steps.form.bits]
    t = steps.let("atan_t", t)
    square = steps.let("atan_square", t * t)
    tail = t * square * steps.polynomial(square, ATAN_Q[steps.form.bits])
    return turn * steps.const(high) + (t + (tail + turn * steps.const(low)))


def atan2(steps: Steps, y: PrimExpr, x: PrimExpr) -> PrimExpr:
    """The angle of the point (x, y)."""
    y, x = steps.let("atan2_y", y), steps.let("atan2_x", x)
    up, right = steps.let("atan2_up", steps.absolute(y)), steps.let("atan2_r", steps.absolute(x))
    steep = steps.let("atan2_steep", up > right)
    long = steps.let("atan2_long", steps.select(steep, up, right))
    short = steps.let("atan2_short", steps.select(steep, right, up))
    one, zero = steps.const(1.0), steps.const(0.0)
    both_infinite = steps.let("atan2_infinite", arith.equal(short, steps.const(math.inf)))
    near_diagonal = short > long * steps.const(TAN_PI_8)
    middle = steps.let("atan2_middle", arith.logical_or(near_diagonal, both_infinite))
    # (short - long) / (short + long) is tan(angle - pi / 4); with halves nothing overflows
    half = steps.const(0.5)
    factor = steps.let("atan2_factor", steps.select(long > one, half, one))
    over = steps.select(middle, short * factor - long * factor, short)
    under = steps.select(middle, short * factor + long * factor, long)
    ratio = over / under
    both_zero = arith.equal(long, zero)
    ratio = steps.select(arith.logical_or(both_zero, both_infinite), zero, ratio)
    # steep: pi / 2 - angle; to the left: pi - angle; in units of pi / 2
    left = steps.let("atan2_left", steps.bits(x) < steps.whole(0))
    turn = steps.select(middle, half, zero)
    turn = steps.let("atan2_turn", steps.select(steep, one - turn, turn))
    turn = steps.select(left, steps.const(2.0) - turn, turn)
    flipped = arith.not_equal(steep, left)
    angle = _atan_part(
        steps, steps.select(flipped, -ratio, ratio), steps.let("atan2_turns", turn)
    )
    value = steps.with_sign_of(angle, y)
    # NaN has no angle, and comparisons above do not tell
    return steps.result(steps.select(_is_nan(x, y), x + y, value))


def _is_nan(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    return arith.logical_or(arith.not_equal(x, x), arith.not_equal(y, y))


def asin(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The angle whose sine is x; NaN beyond 1."""
    x = steps.let("asin_x", x)
    a = steps.let("asin_a", steps.absolute(x))
    near = steps.let("asin_near", arith.less_equal(a, steps.const(0.5)))
    high, low = PI_HALF[steps.form.bits]
    value = steps.let("asin_value", _asin_part(steps, a, near))
    far = steps.const(high) - (value + value - steps.const(low))
    return steps.result(steps.with_sign_of(steps.select(near, value, far), x))


def acos(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The angle whose cosine is x; NaN beyond 1."""
    x = steps.let("acos_x", x)
    a = steps.let("acos_a", steps.absolute(x))
    near = steps.let("acos_near", arith.less_equal(a, steps.const(0.5)))
    high, low = PI_HALF[steps.form.bits]
    value = steps.let("acos_value", _asin_part(steps, a, near))
    middle = steps.const(high) - (steps.with_sign_of(value, x) - steps.const(low))
    twice = steps.let("acos_twice", value + value)
    other = steps.const(2 * high) - (twice - steps.const(2 * low))
    far = steps.select(x < steps.const(0.0), other, twice)
    return steps.result(steps.select(near, middle, far))


def _asin_part(steps: Steps, a: PrimExpr, near: PrimExpr) -> PrimExpr:
    """asin(a) where that is `near`, else asin(sqrt((1 - a) / 2)), of which the rest follows."""
    far_square = (steps.const(1.0) - a) * steps.const(0.5)
    square = steps.let("asin_square", steps.select(near, a * a, far_square))
    root = steps.let("asin_root", steps.select(near, a, steps.root(square)))
    return root + root * square * steps.polynomial(square, ASIN_Q[steps.form.bits])
