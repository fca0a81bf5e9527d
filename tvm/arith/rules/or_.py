"""a or b."""

from tvm.arith.pattern_rule import RuleTable, c1, c2, max_, min_, p, q, rule, x, y

RULES = RuleTable(
    rule(p | p, p),
    rule(p | ~p, True),
    rule((p | q) | p, p | q),
    # comparisons of the same two values
    rule((x == y) | (x != y), True),
    rule((x <= y) | (y < x), True),
    rule((x <= y) | (y <= x), True),
    rule((x < y) | (y < x), x != y),
    rule((x < y) | (x == y), x <= y),
    rule((x < y) | (y == x), x <= y),
    rule((x < y) | (x <= y), x <= y),
    rule((x <= y) | (x == y), x <= y),
    rule((x <= y) | (y == x), x <= y),
    rule((x < y) | (x != y), x != y),
    rule((x < y) | (y != x), x != y),
    # comparisons of one value with literals
    rule((x != c1) | (x != c2), True, when=c1 != c2),
    rule((x != c1) | (x == c2), x != c1, when=c1 != c2),
    rule((x < c1) | (c2 < x), True, when=c2 < c1),
    rule((x < c1) | (c2 <= x), True, when=c2 <= c1),
    rule((x <= c1) | (c2 < x), True, when=c2 <= c1),
    rule((x <= c1) | (c2 <= x), True, when=c2 <= c1 + 1),
    rule((x < c1) | (c2 < x), x != c1, when=c1 == c2),
    rule((x <= c1) | (c2 < x), x != c2, when=c1 == c2 - 1),
    rule((x < c1) | (c2 <= x), x != c1, when=c1 == c2 - 1),
    rule((x <= c1) | (c2 <= x), x != c1 + 1, when=c1 == c2 - 2),
    rule((x < c1) | (x < c2), x < max_(c1, c2)),
    rule((x <= c1) | (x <= c2), x <= max_(c1, c2)),
    rule((x < c1) | (x <= c2), x < c1, when=c1 > c2),
    rule((x < c1) | (x <= c2), x <= c2, when=c1 <= c2),
    rule((c1 < x) | (c2 < x), min_(c1, c2) < x),
    rule((c1 <= x) | (c2 <= x), min_(c1, c2) <= x),
    rule((c1 < x) | (c2 <= x), c1 < x, when=c2 > c1),
    rule((c1 < x) | (c2 <= x), c2 <= x, when=c2 <= c1),
    # repeated conditions
    rule((p & q) | p, p),
    rule((p & q) | (p & ~q), p),
    rule((~p & q) | p, q | p),
)
