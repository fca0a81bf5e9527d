"""a // b, rounded toward minus infinity."""

from tvm.arith.pattern_rule import (
    RuleTable,
    c1,
    c2,
    c3,
    further,
    hi,
    lo,
    max_,
    min_,
    p,
    rule,
    select,
    w,
    x,
    y,
    z,
)

RULES = RuleTable(
    rule(x // x, 1),
    rule((x * c1) // x, c1),
    # quotients of quotients
    rule((x // c1) // c2, x // (c1 * c2), when=(c1 > 0) & (c2 > 0)),
    rule((x // c1 + c2) // c3, (x + c1 * c2) // (c1 * c3), when=(c1 > 0) & (c3 > 0)),
    # multiples
    rule((x * c1) // c2, x * (c1 // c2), when=(c2 != 0) & (c1 % c2 == 0)),
    rule((x * c1) // c2, x // (c2 // c1), when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0)),
    rule(
        (x * c1 + y) // c2,
        x * (c1 // c2),
        when=(c2 > 0) & (lo(x * (c1 % c2) + y) >= 0) & (hi(x * (c1 % c2) + y) < c2),
    ),
    rule(
        (x * c1) // c2,
        x * (c1 // c2),
        when=(c2 > 0) & (lo(x * (c1 % c2)) >= 0) & (hi(x * (c1 % c2)) < c2),
    ),
    rule((x * c1 + y * c2) // c2, (x * c1) // c2 + y, when=(c2 > 0) & (c1 % c2 != 0), ordered=True),
    rule((x * c1 + y) // c2, x * (c1 // c2) + y // c2, when=(c2 > 0) & (c1 % c2 == 0)),
    rule(
        (x * c1 + c2) // c3,
        (x + c2 // c1) // (c3 // c1),
        when=(c1 > 0) & (c3 > 0) & (c3 % c1 == 0) & (c1 * c1 == c2 * c2),
    ),
    rule((x % 2 + 1) // 2, x % 2),
    further((x * c1 - y) // c2, x * (c1 // c2) + (0 - y) // c2, when=(c2 > 0) & (c1 % c2 == 0)),
    further((y - x * c1) // c2, y // c2 - x * (c1 // c2), when=(c2 > 0) & (c1 % c2 == 0)),
    rule(min_(x * c1, y) // c2, min_(x * (c1 // c2), y // c2), when=(c2 > 0) & (c1 % c2 == 0)),
    rule(max_(x * c1, y) // c2, max_(x * (c1 // c2), y // c2), when=(c2 > 0) & (c1 % c2 == 0)),
    rule(
        ((x * c1 + y) + z) // c2, x * (c1 // c2) + (y + z) // c2, when=(c2 > 0) & (c1 % c2 == 0)
    ),
    rule(
        ((x * c1 - y) + z) // c2, x * (c1 // c2) + (z - y) // c2, when=(c2 > 0) & (c1 % c2 == 0)
    ),
    rule(
        ((x * c1 + y) - z) // c2, x * (c1 // c2) + (y - z) // c2, when=(c2 > 0) & (c1 % c2 == 0)
    ),
    rule(
        (x * c1 + c2) // c3,
        x // (c3 // c1) + c2 // c3,
        when=(c1 > 0) & (c3 > 0) & (c3 % c1 == 0) & (c2 % c3 < c1),
    ),
    rule(
        (x * c1 + y) // c2,
        x // (c2 // c1),
        when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (lo(y) >= 0) & (hi(y) < c1),
    ),
    rule(
        ((x * c1 + y) + z) // c2,
        x // (c2 // c1),
        when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (lo(y + z) >= 0) & (hi(y + z) < c1),
    ),
    rule((x + c1) // c2, x // c2 + c1 // c2, when=(c2 > 0) & (c1 % c2 == 0)),
    rule((x + y * c1) // c1, x // c1 + y, when=c1 != 0),
    # symbolic divisors
    rule((x + y) // x, y // x + 1, when=lo(x) >= 0),
    rule(((x + y) + z) // x, (y + z) // x + 1, when=lo(x) >= 0, ordered=True),
    rule(((y + x) + z) // x, (y + z) // x + 1, when=lo(x) >= 0, ordered=True),
    rule((y + (x + z)) // x, (y + z) // x + 1, when=lo(x) >= 0, ordered=True),
    rule((y + (z + x)) // x, (y + z) // x + 1, when=lo(x) >= 0, ordered=True),
    rule((x * c1) // (x * c2), c1 // c2, when=c2 != 0),
    rule(
        (x * z * c1 + y) // (z * c1),
        x + y // (z * c1),
        when=lo(z * c1) >= 0,
        sums_ordered=True,
    ),
    further((y + x * z * c1) // (z * c1), y // (z * c1) + x, sums_ordered=True),
    rule((x * y) // y, x, when=lo(y) >= 0),
    rule((x * z + y) // z, x + y // z, when=lo(z) >= 0, sums_ordered=True),
    rule((y + x * z) // z, y // z + x, when=lo(z) >= 0, sums_ordered=True),
    further((y - x * z) // z, y // z - x),
    further((x * z) // (y * z), x // y, when=(lo(y) > 0) & (lo(z) > 0)),
    rule((x - x % c1) // c1, x // c1),
    further(select(p, c1, c2) // c3, select(p, c1 // c3, c2 // c3)),
    # remainders
    further((x % y) // y, 0),
    further((x % c1) // c2, 0, when=(c1 > 0) & (c2 >= c1)),
    further((x - x % y) // y, x // y),
    further(x // c1, 0 - x, when=c1 == -1),
    # common factors and multiples of symbolic divisors
    further((x * c1) // (y * c1), x // y, when=c1 != 0),
    further(((x * z + y) + w) // z, x + (y + w) // z),
    further(((x * z + y) - w) // z, x + (y - w) // z),
    further(((y - x * z) + w) // z, (y + w) // z - x),
    further((x - y) // y, x // y + (-1)),
)
