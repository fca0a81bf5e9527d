"""a % b, with the sign of b."""

from tvm.arith.pattern_rule import RuleTable, c1, c2, c3, hi, lo, p, rule, select, w, x, y, z

RULES = RuleTable(
    rule(x % x, 0),
    rule((x * c1) % x, 0),
    # multiples
    rule((x * c1) % c2, 0, when=(c1 % c2 == 0)),
    rule((x * c1) % c2, (x % (c2 // c1)) * c1, when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0)),
    rule((x * c1 + y) % c2, y % c2, when=c1 % c2 == 0),
    rule((x * c1 - y) % c2, (0 - y) % c2, when=c1 % c2 == 0),
    rule((y - x * c1) % c2, y % c2, when=c1 % c2 == 0),
    rule(((x * c1 + y) + z) % c2, (y + z) % c2, when=c1 % c2 == 0),
    rule(((x * c1 + y) - z) % c2, (y - z) % c2, when=c1 % c2 == 0),
    rule((x + c1) % c2, x % c2, when=c1 % c2 == 0),
    rule((x + 1) % 2, (x % 2) * (-1) + 1),
    rule((x + c1) % c2, (x + c1 % c2) % c2, when=(c2 > 0) & (c1 % c2 != c1)),
    rule(
        (x * c1 + y) % c2,
        (x % (c2 // c1)) * c1 + y,
        when=(c1 > 0) & (c2 > 0) & (c2 % c1 == 0) & (lo(y) >= 0) & (hi(y) < c1),
    ),
    rule((x * c1) % c2, (x * (c1 % c2)) % c2, when=(c2 > 0) & (c1 % c2 != c1)),
    rule((x * c1 + y) % c2, (x * (c1 % c2) + y) % c2, when=(c2 > 0) & (c1 % c2 != c1)),
    # remainders of remainders
    rule((x % c1) % c2, x % c2, when=(c2 != 0) & (c1 % c2 == 0)),
    rule((x % c1 + y) % c2, (x + y) % c2, when=(c2 != 0) & (c1 % c2 == 0)),
    rule((y - x % c1) % c2, (y - x) % c2, when=(c2 != 0) & (c1 % c2 == 0)),
    # symbolic divisors
    rule((x + y) % x, y % x),
    rule((x * y) % y, 0),
    rule((x * z + y) % z, y % z),
    rule((y - x * z) % z, y % z),
    rule(select(p, c1, c2) % c3, select(p, c1 % c3, c2 % c3)),
    # remainders by symbolic divisors
    rule((x % y) % y, x % y),
    rule((x % c1) % c2, x % c1, when=(c1 > 0) & (c2 >= c1)),
    rule((x - x % y) % y, 0),
    rule((x % z + y) % z, (x + y) % z),
    rule((y - x % z) % z, (y - x) % z),
    rule((x % z - y) % z, (x - y) % z),
    rule((x % c1 - y) % c2, (x - y) % c2, when=(c2 != 0) & (c1 % c2 == 0)),
    rule((x * (y % z)) % z, (x * y) % z),
    rule(((x * z + y) + w) % z, (y + w) % z),
    rule(((x * z + y) - w) % z, (y - w) % z),
    rule(((y - x * z) + w) % z, (y + w) % z),
    rule((x - y) % y, x % y),
    rule(x % c1, 0, when=c1 == -1),
    # common factors
    rule((x * z) % (y * z), (x % y) * z),
    rule((x * c1) % (y * c1), (x % y) * c1, when=c1 != 0),
)
