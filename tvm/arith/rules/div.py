"""a / b of integers, rounded toward zero. Most rules need operands that are never negative."""

from tvm.arith.pattern_rule import (
    RuleTable,
    c1,
    c2,
    c3,
    hi,
    lo,
    max_,
    min_,
    p,
    rule,
    select,
    tdiv,
    tmod,
    x,
    y,
    z,
)

RULES = RuleTable(
    rule(tdiv(x, x), 1),
    rule(tdiv(x * c1, x), c1),
    rule(tdiv(x * y, y), x),
    rule(tdiv(tdiv(x, c1), c2), tdiv(x, c1 * c2), when=(c1 > 0) & (c2 > 0)),
    rule(
        tdiv(tdiv(x, c1) + c2, c3),
        tdiv(x + c1 * c2, c1 * c3),
        when=(c1 > 0) & (c2 >= 0) & (c3 > 0) & (lo(x) >= 0),
    ),
    rule(tdiv(x * c1, c2), x * tdiv(c1, c2), when=(c2 != 0) & (c1 % c2 == 0)),
    rule(tdiv(x * c1, c2), tdiv(x, tdiv(c2, c1)), when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0)),
    rule(
        tdiv(x * c1 + y, c2),
        x * tdiv(c1, c2) + tdiv(y, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (lo(y) >= 0),
    ),
    rule(
        tdiv((x * c1 + y) + z, c2),
        x * tdiv(c1, c2) + tdiv(y + z, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (lo(y + z) >= 0),
    ),
    rule(
        tdiv((x * c1 + y) - z, c2),
        x * tdiv(c1, c2) + tdiv(y - z, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (lo(y - z) >= 0),
    ),
    rule(
        tdiv(x * c1 - y, c2),
        x * tdiv(c1, c2) + tdiv(0 - y, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (hi(y) <= 0),
    ),
    rule(
        tdiv(x * c1 + y, c2),
        tdiv(x, tdiv(c2, c1)),
        when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (lo(y) >= 0) & (hi(y) < c1) & (lo(x) >= 0),
    ),
    rule(
        tdiv(x * z + y, z),
        x + tdiv(y, z),
        when=(lo(x) >= 0) & (lo(y) >= 0) & (lo(z) > 0),
    ),
    rule(tdiv(x + c1, c2), tdiv(x, c2) + tdiv(c1, c2),
         when=(c1 > 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0)),
    rule(tdiv(x + y, x), tdiv(y, x) + 1, when=(lo(x) > 0) & (lo(y) >= 0)),
    rule(tdiv(min_(x * c1, y), c2), min_(x * tdiv(c1, c2), tdiv(y, c2)),
         when=(c2 > 0) & (c1 % c2 == 0)),
    rule(tdiv(max_(x * c1, y), c2), max_(x * tdiv(c1, c2), tdiv(y, c2)),
         when=(c2 > 0) & (c1 % c2 == 0)),
    rule(tdiv(x - tmod(x, c1), c1), tdiv(x, c1)),
    rule(tdiv(select(p, c1, c2), c3), select(p, tdiv(c1, c3), tdiv(c2, c3))),
    # remainders
    rule(tdiv(tmod(x, y), y), 0),
    rule(tdiv(tmod(x, c1), c2), 0, when=(c1 > 0) & (c2 >= c1)),
    rule(tdiv(x - tmod(x, y), y), tdiv(x, y)),
    rule(tdiv(x, c1), 0 - x, when=c1 == -1),
    # common factors
    rule(tdiv(x * z, y * z), tdiv(x, y)),
    rule(tdiv(x * c1, y * c1), tdiv(x, y), when=c1 != 0),
)
