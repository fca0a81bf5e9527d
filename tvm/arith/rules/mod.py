"""The remainder of a / b rounded toward zero, with the sign of a."""

from tvm.arith.pattern_rule import RuleTable, c1, c2, further, hi, lo, rule, tmod, x, y, z

RULES = RuleTable(
    further(tmod(x, x), 0),
    further(tmod(x * c1, x), 0),
    further(tmod(x * y, y), 0),
    rule(tmod(x * c1, c2), 0, when=(c2 != 0) & (c1 % c2 == 0)),
    rule(
        tmod(x * c1 + y, c2),
        tmod(y, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (lo(y) >= 0),
    ),
    rule(
        tmod(x + c1, c2),
        tmod(x, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0),
    ),
    rule(
        tmod(x + y * c1, c2),
        tmod(x, c2),
        when=(c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (lo(x + y * c1) >= 0),
    ),
    further(
        tmod((x * c1 + y) + z, c2),
        tmod(y + z, c2),
        when=(c1 >= 0) & (c2 > 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (lo(y + z) >= 0),
    ),
    further(
        tmod(x * c1 + y, c2),
        tmod(x, c2 // c1) * c1 + y,
        when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (lo(y) >= 0) & (hi(y) < c1) & (lo(x) >= 0),
    ),
    further(tmod(x * c1, c2), tmod(x, c2 // c1) * c1, when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0)),
    further(tmod(tmod(x, c1), c2), tmod(x, c2), when=(c1 > 0) & (c2 > 0) & (c1 % c2 == 0)),
    # remainders of remainders
    further(tmod(tmod(x, y), y), tmod(x, y)),
    further(tmod(tmod(x, c1), c2), tmod(x, c1), when=(c1 > 0) & (c2 >= c1)),
    further(tmod(x - tmod(x, y), y), 0),
    rule(tmod(x, c1), 0, when=c1 == -1),
    rule(tmod(x, c1), tmod(x, 0 - c1), when=c1 < 0),
    # multiples of symbolic divisors, and common factors
    further(tmod(x * z + y, z), tmod(y, z), when=(lo(x) >= 0) & (lo(y) >= 0) & (lo(z) >= 0)),
    further(tmod(x * z, y * z), tmod(x, y) * z),
    further(tmod(x * c1, y * c1), tmod(x, y) * c1, when=c1 != 0),
)
