"""a * b."""

from tvm.arith.pattern_rule import RuleTable, c1, c2, c3, further, max_, min_, p, rule, select, x, y

RULES = RuleTable(
    rule((x + c1) * c2, x * c2 + c1 * c2),
    rule((x * c1) * c2, x * (c1 * c2)),
    rule(min_(x, y) * max_(x, y), x * y),
    rule((x - y) * c1, (y - x) * (0 - c1), when=c1 < 0),
    further((x % 2) * ((x % 2) * (-1) + 1), 0),
    further((x * c1) * y, (x * y) * c1),
    further((0 - x) * c1, x * (0 - c1)),
    further(select(p, c1, c2) * c3, select(p, c1 * c3, c2 * c3)),
)
