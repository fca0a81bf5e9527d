"""a == b of integers."""

from tvm.arith.pattern_rule import RuleTable, c1, c2, c3, p, rule, select, x, y, z

RULES = RuleTable(
    rule(x == x, True),
    rule(x + c1 == y + c2, x == y + (c2 - c1)),
    rule(x + c1 == c2, x == c2 - c1),
    rule(c1 - x == c2, x == c1 - c2),
    rule(x - y == 0, x == y),
    rule(x * c1 == c2, x == c2 // c1, when=(c1 != 0) & (c2 % c1 == 0)),
    rule(x * c1 == c2, False, when=(c1 != 0) & (c2 % c1 != 0)),
    rule(x * c1 == y * c1, x == y, when=c1 != 0),
    rule(x * c1 == y * c2, x == y * (c2 // c1), when=(c1 != 0) & (c2 % c1 == 0)),
    rule(x * c1 == y * c2, x * (c1 // c2) == y, when=(c2 != 0) & (c1 % c2 == 0)),
    rule(x * y == 0, (x == 0) | (y == 0)),
    rule(x + y == x, y == 0),
    rule(x + y == x + z, y == z),
    rule(x - y == x - z, y == z),
    rule(y - x == z - x, y == z),
    rule(x - y == x, y == 0),
    rule(select(p, c1, c2) == c3, p, when=(c1 == c3) & (c2 != c3)),
    rule(select(p, c1, c2) == c3, ~p, when=(c1 != c3) & (c2 == c3)),
)
