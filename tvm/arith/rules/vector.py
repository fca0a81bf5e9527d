"""Vectors: operations on ramps and broadcasts become scalar operations under one of them."""

from tvm.arith.pattern_rule import (
    Op,
    Pattern,
    RuleTable,
    broadcast,
    c1,
    c2,
    lanes,
    lo,
    max_,
    min_,
    ramp,
    rule,
    tdiv,
    tmod,
    u,
    w,
    x,
    y,
    z,
)
from tvm.tir import expr as e

_n = lanes


def _both(kind: type) -> Pattern:
    return Op(kind, broadcast(x, _n), broadcast(y, _n))


RULES: dict[type, RuleTable] = {
    e.Add: RuleTable(
        rule(ramp(x, y, _n) + ramp(z, w, _n), ramp(x + z, y + w, _n)),
        rule(ramp(x, y, _n) + broadcast(z, _n), ramp(x + z, y, _n), ordered=True),
        rule(broadcast(z, _n) + ramp(x, y, _n), ramp(z + x, y, _n), ordered=True),
        rule(broadcast(x, _n) + broadcast(y, _n), broadcast(x + y, _n)),
        rule((u + broadcast(x, _n)) + broadcast(y, _n), u + broadcast(x + y, _n)),
        rule((u + ramp(x, y, _n)) + broadcast(z, _n), u + ramp(x + z, y, _n)),
    ),
    e.Sub: RuleTable(
        rule(ramp(x, y, _n) - ramp(z, w, _n), ramp(x - z, y - w, _n)),
        rule(ramp(x, y, _n) - broadcast(z, _n), ramp(x - z, y, _n)),
        rule(broadcast(z, _n) - ramp(x, y, _n), ramp(z - x, 0 - y, _n)),
        rule(broadcast(x, _n) - broadcast(y, _n), broadcast(x - y, _n)),
    ),
    e.Mul: RuleTable(
        rule(broadcast(x, _n) * broadcast(y, _n), broadcast(x * y, _n)),
        rule(ramp(x, y, _n) * broadcast(z, _n), ramp(x * z, y * z, _n)),
    ),
    e.Div: RuleTable(
        rule(tdiv(broadcast(x, _n), broadcast(y, _n)), broadcast(tdiv(x, y), _n)),
        rule(
            tdiv(ramp(x, c1, _n), broadcast(c2, _n)),
            ramp(tdiv(x, c2), tdiv(c1, c2), _n),
            when=(c2 != 0) & (c1 % c2 == 0) & (c1 * lo(x) >= 0) & (lo(x) >= 0) & (c1 >= 0),
        ),
    ),
    e.Mod: RuleTable(
        rule(tmod(broadcast(x, _n), broadcast(y, _n)), broadcast(tmod(x, y), _n)),
        rule(
            tmod(ramp(x, c1, _n), broadcast(c2, _n)),
            broadcast(tmod(x, c2), _n),
            when=(c2 != 0) & (c1 % c2 == 0) & (lo(x) >= 0) & (c1 >= 0),
        ),
    ),
    e.FloorDiv: RuleTable(
        rule(broadcast(x, _n) // broadcast(y, _n), broadcast(x // y, _n)),
        rule(
            ramp(x, c1, _n) // broadcast(c2, _n),
            ramp(x // c2, c1 // c2, _n),
            when=(c2 != 0) & (c1 % c2 == 0),
        ),
    ),
    e.FloorMod: RuleTable(
        rule(broadcast(x, _n) % broadcast(y, _n), broadcast(x % y, _n)),
        rule(
            ramp(x, c1, _n) % broadcast(c2, _n),
            broadcast(x % c2, _n),
            when=(c2 != 0) & (c1 % c2 == 0),
        ),
    ),
    e.Min: RuleTable(
        rule(min_(broadcast(x, _n), broadcast(y, _n)), broadcast(min_(x, y), _n)),
        rule(
            min_(min_(u, broadcast(x, _n)), broadcast(y, _n)), min_(u, broadcast(min_(x, y), _n))
        ),
    ),
    e.Max: RuleTable(
        rule(max_(broadcast(x, _n), broadcast(y, _n)), broadcast(max_(x, y), _n)),
        rule(
            max_(max_(u, broadcast(x, _n)), broadcast(y, _n)), max_(u, broadcast(max_(x, y), _n))
        ),
    ),
    e.EQ: RuleTable(rule(_both(e.EQ), broadcast(x == y, _n))),
    e.LT: RuleTable(
        rule(_both(e.LT), broadcast(x < y, _n)),
        rule(
            ramp(x, y, _n) < ramp(z, y, _n),
            broadcast(x < z, _n),
        ),
    ),
    e.And: RuleTable(rule(_both(e.And), broadcast(x & y, _n))),
    e.Or: RuleTable(rule(_both(e.Or), broadcast(x | y, _n))),
}
