"""The maximum of two values."""

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
    rule(max_(x, x), x),
    # the same moved by a literal
    rule(max_(x + c1, x + c2), x + max_(c1, c2), ordered=True),
    rule(max_(x + c1, x), x + max_(c1, 0)),
    rule(max_(c1 - x, c2 - x), max_(c1, c2) - x, ordered=True),
    # absorption
    rule(max_(min_(x, y), x), x),
    rule(max_(max_(x, y), x), max_(x, y), ordered=True),
    rule(max_(max_(x, y), y), max_(x, y), ordered=True),
    rule(max_(x, max_(x, y)), max_(x, y), ordered=True),
    rule(max_(y, max_(x, y)), max_(x, y), ordered=True),
    rule(max_(min_(x, y), max_(y, x)), max_(x, y), ordered=True),
    rule(max_(max_(x, y), min_(x, y)), max_(x, y)),
    rule(max_(max_(max_(x, y), z), y), max_(max_(x, y), z)),
    rule(max_(max_(max_(max_(x, y), z), w), y), max_(max_(max_(x, y), z), w)),
    rule(max_(max_(x, c1), c2), max_(x, max_(c1, c2))),
    rule(
        max_(max_(max_(max_(max_(x, y), z), w), u), y), max_(max_(max_(max_(x, y), z), w), u)
    ),
    # common parts move outward
    rule(max_(min_(x, y), min_(x, z)), min_(max_(y, z), x)),
    rule(max_(max_(x, y), max_(x, z)), max_(max_(y, z), x)),
    rule(max_(x + y, x + z), max_(y, z) + x),
    further(max_(t + y, t), max_(y, 0) + t),
    rule(max_(x - y, x - z), x - min_(y, z)),
    rule(max_(y - x, z - x), max_(y, z) - x),
    further(max_(t - y, t), t - min_(0, y)),
    rule(max_(c1 - x, c2), c1 - min_(x, c1 - c2), when=c2 != 0, ordered=True),
    further(max_(x + c1, y + c2), max_(x, y + (c2 - c1)) + c1, when=c1 < c2),
    # roundings
    rule(max_(((x + c1) // c2) * c2, x), ((x + c1) // c2) * c2, when=(c2 > 0) & (c1 + 1 == c2)),
    rule(max_((x // c1) * c1, x), x, when=c1 > 0),
    rule(
        max_(tdiv(x + c1, c2) * c2, x),
        tdiv(x + c1, c2) * c2,
        when=(c2 > 0) & (c1 + 1 == c2),
    ),
    further(
        max_(((x + c1) // c2) * c2, max_(x, c2)),
        ((x + c1) // c2) * c2,
        when=(c2 > 0) & (c1 + 1 == c2) & (lo(x) > 0),
    ),
    further(
        max_(tdiv(x + c1, c2) * c2, max_(x, c2)),
        tdiv(x + c1, c2) * c2,
        when=(c2 > 0) & (c1 + 1 == c2) & (lo(x) > 0),
    ),
    # factors
    rule(max_(x * c1, y * c1), max_(x, y) * c1, when=c1 > 0),
    rule(max_(x * c1, y * c1), min_(x, y) * c1, when=c1 < 0),
    further(max_(x * c1, y * c2), max_(x, y * (c2 // c1)) * c1, when=(c1 > 0) & (c2 % c1 == 0)),
    further(max_(x * c1, y * c2), min_(x, y * (c2 // c1)) * c1, when=(c1 < 0) & (c2 % c1 == 0)),
    rule(max_(x * c1, c2), max_(x, c2 // c1) * c1, when=(c1 > 0) & (c2 % c1 == 0), ordered=True),
    rule(
        max_(x * c1 + c1, c2),
        max_(x + 1, c2 // c1) * c1,
        when=(c1 > 0) & (c2 % c1 == 0),
        ordered=True,
    ),
    rule(max_(x * c1, c2), min_(x, c2 // c1) * c1, when=(c1 < 0) & (c2 % c1 == 0), ordered=True),
    rule(max_(tdiv(x, c1), tdiv(y, c1)), tdiv(max_(x, y), c1), when=c1 > 0),
    further(max_(tdiv(x, c1), tdiv(y, c1)), tdiv(min_(x, y), c1), when=c1 < 0),
    rule(max_(x // c1, y // c1), max_(x, y) // c1, when=c1 > 0),
    further(max_(x // c1, y // c1), min_(x, y) // c1, when=c1 < 0),
    # what cannot be the maximum
    rule(max_(min_(x, c1), c2), c2, when=c1 <= c2),
    rule(max_(select(p, x, y), select(p, z, w)), select(p, max_(x, z), max_(y, w))),
    # literals move outward
    rule(max_(max_(x, c1), y), max_(max_(x, y), c1), ordered=True),
    # beside another one, and beside the same value moved by a literal
    further(max_(max_(x, y), min_(x, z)), max_(x, y)),
    further(max_(max_(x + c1, y), x + c2), max_(x + max_(c1, c2), y)),
    further(max_(max_(x + c1, y), x), max_(x + max_(c1, 0), y)),
    further(max_(min_(x, y), x + c1), x + c1, when=c1 >= 0),
    further(max_(min_(x + c1, y), x), x, when=c1 <= 0),
    # beside a remainder or a rounding
    further(max_(x % y, y), y, when=lo(y) > 0),
    rule(max_(x % y, 0), x % y, when=lo(y) > 0),
    further(max_((x // c1) * c1 + c2, x), x, when=(c1 > 0) & (c2 <= 0)),
    further(max_((x // c1) * c1 + c2, x), (x // c1) * c1 + c2, when=(c1 > 0) & (c2 + 1 >= c1)),
    further(max_(tdiv(x, c1) * c1, x), x, when=(c1 > 0) & (lo(x) >= 0)),
)
