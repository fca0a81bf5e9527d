"""The minimum of two values."""

from tvm.arith.pattern_rule import (
    RuleTable,
    c1,
    c2,
    further,
    lo,
    max_,
    min_,
    p,
    rule,
    select,
    t,
    tdiv,
    u,
    w,
    x,
    y,
    z,
)

RULES = RuleTable(
    rule(min_(x, x), x),
    # the same moved by a literal
    rule(min_(x + c1, x + c2), x + min_(c1, c2), ordered=True),
    rule(min_(x + c1, x), x + min_(c1, 0)),
    rule(min_(c1 - x, c2 - x), min_(c1, c2) - x, ordered=True),
    # absorption
    rule(min_(max_(x, y), x), x),
    rule(min_(min_(x, y), x), min_(x, y), ordered=True),
    rule(min_(min_(x, y), y), min_(x, y), ordered=True),
    rule(min_(x, min_(x, y)), min_(x, y), ordered=True),
    rule(min_(y, min_(x, y)), min_(x, y), ordered=True),
    rule(min_(max_(x, y), min_(y, x)), min_(x, y), ordered=True),
    rule(min_(max_(x, y), min_(x, y)), min_(x, y)),
    rule(min_(min_(min_(x, y), z), y), min_(min_(x, y), z)),
    rule(min_(min_(min_(min_(x, y), z), w), y), min_(min_(min_(x, y), z), w)),
    rule(min_(min_(x, c1), c2), min_(x, min_(c1, c2))),
    rule(
        min_(min_(min_(min_(min_(x, y), z), w), u), y), min_(min_(min_(min_(x, y), z), w), u)
    ),
    # common parts move outward
    rule(min_(max_(x, y), max_(x, z)), max_(min_(y, z), x)),
    rule(min_(min_(x, y), min_(x, z)), min_(min_(y, z), x)),
    rule(min_(x + y, x + z), min_(y, z) + x),
    further(min_(t + y, t), min_(y, 0) + t),
    rule(min_(x - y, x - z), x - max_(y, z)),
    rule(min_(y - x, z - x), min_(y, z) - x),
    further(min_(t - y, t), t - max_(0, y)),
    rule(min_(c1 - x, c2), c1 - max_(x, c1 - c2), when=c2 != 0, ordered=True),
    further(min_(x + c1, y + c2), min_(x, y + (c2 - c1)) + c1, when=c1 < c2),
    # roundings
    rule(min_(((x + c1) // c2) * c2, x), x, when=(c2 > 0) & (c1 + 1 == c2)),
    rule(min_((x // c1) * c1, x), (x // c1) * c1, when=c1 > 0),
    rule(min_(tdiv(x + c1, c2) * c2, x), x, when=(c2 > 0) & (c1 + 1 == c2)),
    rule(
        min_(((x + c1) // c2) * c2, max_(x, c2)),
        max_(x, c2),
        when=(c2 > 0) & (c1 + 1 == c2) & (lo(x) > 0),
    ),
    rule(
        min_(tdiv(x + c1, c2) * c2, max_(x, c2)),
        max_(x, c2),
        when=(c2 > 0) & (c1 + 1 == c2) & (lo(x) > 0),
    ),
    # factors
    rule(min_(x * c1, y * c1), min_(x, y) * c1, when=c1 > 0),
    rule(min_(x * c1, y * c1), max_(x, y) * c1, when=c1 < 0),
    further(min_(x * c1, y * c2), min_(x, y * (c2 // c1)) * c1, when=(c1 > 0) & (c2 % c1 == 0)),
    further(min_(x * c1, y * c2), max_(x, y * (c2 // c1)) * c1, when=(c1 < 0) & (c2 % c1 == 0)),
    rule(min_(x * c1, c2), min_(x, c2 // c1) * c1, when=(c1 > 0) & (c2 % c1 == 0), ordered=True),
    rule(
        min_(x * c1 + c1, c2),
        min_(x + 1, c2 // c1) * c1,
        when=(c1 > 0) & (c2 % c1 == 0),
        ordered=True,
    ),
    rule(min_(x * c1, c2), max_(x, c2 // c1) * c1, when=(c1 < 0) & (c2 % c1 == 0), ordered=True),
    rule(min_(tdiv(x, c1), tdiv(y, c1)), tdiv(min_(x, y), c1), when=c1 > 0),
    further(min_(tdiv(x, c1), tdiv(y, c1)), tdiv(max_(x, y), c1), when=c1 < 0),
    rule(min_(x // c1, y // c1), min_(x, y) // c1, when=c1 > 0),
    further(min_(x // c1, y // c1), max_(x, y) // c1, when=c1 < 0),
    # what cannot be the minimum
    rule(min_(max_(x, c1), c2), c2, when=c1 >= c2),
    rule(min_(select(p, x, y), select(p, z, w)), select(p, min_(x, z), min_(y, w))),
    # literals move outward
    rule(min_(min_(x, c1), y), min_(min_(x, y), c1), ordered=True),
    # beside another one, and beside the same value moved by a literal
    further(min_(min_(x, y), max_(x, z)), min_(x, y)),
    further(min_(min_(x + c1, y), x + c2), min_(x + min_(c1, c2), y)),
    further(min_(min_(x + c1, y), x), min_(x + min_(c1, 0), y)),
    further(min_(max_(x, y), x + c1), x + c1, when=c1 <= 0),
    further(min_(max_(x + c1, y), x), x, when=c1 >= 0),
    # beside a remainder or a rounding
    further(min_(x % y, y), x % y, when=lo(y) > 0),
    rule(min_(x % y, 0), 0, when=lo(y) > 0),
    further(min_((x // c1) * c1 + c2, x), (x // c1) * c1 + c2, when=(c1 > 0) & (c2 <= 0)),
    further(min_((x // c1) * c1 + c2, x), x, when=(c1 > 0) & (c2 + 1 >= c1)),
    further(min_(tdiv(x, c1) * c1, x), tdiv(x, c1) * c1, when=(c1 > 0) & (lo(x) >= 0)),
)
