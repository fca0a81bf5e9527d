"""a + b."""

from tvm.arith.pattern_rule import (
    RuleTable,
    c1,
    c2,
    c3,
    c4,
    lo,
    max_,
    min_,
    o,
    p,
    plain,
    rule,
    select,
    t,
    tdiv,
    tmod,
    w,
    x,
    y,
    z,
)

RULES = RuleTable(
    # literals gather on the right
    rule((x + c1) + c2, x + (c1 + c2)),
    rule((c1 - x) + c2, (c1 + c2) - x),
    # cancelling
    rule((x - y) + y, x),
    rule((x - y) + (y - z), x - z),
    rule((0 - x) + y, y - x),
    rule((x - y) + (z + y), x + z),
    rule(t + t, t * 2),
    rule(min_(0, c1 - x * c2) + x * c2, min_(x * c2, c1), ordered=True),
    rule(max_(0, c1 - x * c2) + x * c2, max_(x * c2, c1), ordered=True),
    rule(min_(c1 - x * c2, 0) + x * c2, min_(x * c2, c1), ordered=True),
    rule(max_(c1 - x * c2, 0) + x * c2, max_(x * c2, c1), ordered=True),
    rule(x * c2 + min_(0, c1 - x * c2), min_(x * c2, c1), ordered=True),
    rule(x * c2 + max_(0, c1 - x * c2), max_(x * c2, c1), ordered=True),
    rule(x * c2 + min_(c1 - x * c2, 0), min_(x * c2, c1), ordered=True),
    rule(x * c2 + max_(c1 - x * c2, 0), max_(x * c2, c1), ordered=True),
    rule(min_(x, y - z) + z, min_(x + z, y)),
    rule(max_(x, y - z) + z, max_(x + z, y)),
    rule(min_(x, y + c1) + c2, min_(x + c2, y), when=c1 + c2 == 0),
    rule(max_(x, y + c1) + c2, max_(x + c2, y), when=c1 + c2 == 0),
    rule(min_(x, y + z * c1) + z * c2, min_(x + z * c2, y), when=c1 + c2 == 0),
    rule(max_(x, y + z * c1) + z * c2, max_(x + z * c2, y), when=c1 + c2 == 0),
    rule(max_(x, y) + min_(x, y), x + y),
    # common factors
    rule(t * c1 + t * c2, t * (c1 + c2)),
    rule(t * c1 + t * z, plain(plain(c1 + z) * t), sums_ordered=True),
    rule(t * y + t * z, (y + z) * t),
    rule(t * y + t, (y + 1) * t),
    rule(x * c1 + (y + x * c2), y + x * (c1 + c2)),
    # quotient and remainder of one value
    rule((x // y) * y + x % y, x),
    rule(tdiv(x, y) * y + tmod(x, y), x),
    rule(((x // y) * y + z) + x % y, x + z),
    # digits of one value in a mixed base of symbols
    rule((x // (y * z)) * y + (x % (y * z)) // z, x // z),
    rule((x % y + z) + (x // y) * y, x + z),
    rule((x // c1) * c1 + ((x % c1) + z), x + z),
    rule(((x + c1) // c2) * c2 + x % c2, x + c1, when=(c1 % c2 == 0)),
    rule(x // 2 + x % 2, (x + 1) // 2),
    rule(x % 2 + (x + c1) % 2, 1, when=c1 % 2 == 1),
    rule((x % c2 + c1) // c2 + x // c2, (x + c1) // c2, when=c2 > 0),
    rule(
        tdiv(tmod(x, c2) + c1, c2) + tdiv(x, c2),
        tdiv(x + c1, c2),
        when=(c2 > 0) & (c1 >= 0) & (lo(x) >= 0),
    ),
    # choices by one condition
    rule(select(p, x, y) + select(p, z, w), select(p, x + z, y + w)),
    # literals move outward
    rule((x + c1) + y, (x + y) + c1, ordered=True),
    rule(x + (y + c1), (x + y) + c1, ordered=True),
    rule(x + (c1 - y), (x - y) + c1),
    # quotient and remainder of one value, both scaled
    rule((x // c1) * c2 + (x % c1) * c3, x * c3, when=(c1 != 0) & (c2 == c1 * c3)),
    rule(((x // c1) * c2 + z) + (x % c1) * c3, x * c3 + z, when=(c1 != 0) & (c2 == c1 * c3)),
    rule(((x % c1) * c3 + z) + (x // c1) * c2, x * c3 + z, when=(c1 != 0) & (c2 == c1 * c3)),
    rule(tdiv(x, c1) * c2 + tmod(x, c1) * c3, x * c3, when=(c1 != 0) & (c2 == c1 * c3)),
    rule((tdiv(x, y) * y + z) + tmod(x, y), x + z),
    rule((tmod(x, y) + z) + tdiv(x, y) * y, x + z),
    # digits of one value that lie side by side
    rule(((x // c1) % c2) * c1 + x % c1, x % (c1 * c2), when=(c1 > 0) & (c2 > 0)),
    rule((((x // c1) % c2) * c1 + z) + x % c1, x % (c1 * c2) + z, when=(c1 > 0) & (c2 > 0)),
    rule(
        ((x // c1) % c2) * c3 + (x % c1) * c4,
        (x % (c1 * c2)) * c4,
        when=(c1 > 0) & (c2 > 0) & (c3 == c1 * c4),
    ),
    rule(((x % c1) // c2) * c2 + x % c2, x % c1, when=(c1 > 0) & (c2 > 0) & (c1 % c2 == 0)),
    rule(
        ((x % c1) // c2) * c3 + (x % c2) * c4,
        (x % c1) * c4,
        when=(c1 > 0) & (c2 > 0) & (c1 % c2 == 0) & (c3 == c2 * c4),
    ),
    # cancelling through one more term
    rule(((x - y) + z) + y, x + z),
    rule((max_(x, y) + z) + min_(x, y), (x + y) + z),
    rule((min_(x, y) + z) + max_(x, y), (x + y) + z),
    # minima and maxima move to the left
    rule(o + min_(x, y), min_(x, y) + o, ordered=True),
    rule(o + max_(x, y), max_(x, y) + o, ordered=True),
)
