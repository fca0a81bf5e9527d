"""What a block's predicate asks for, told of the block's variables instead of its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.arith import Analyzer, IterMapLevel, detect_iter_map
from tvm.arith.iter_affine_map import inverse_if_any
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.expr import GE, GT, LE, LT, Var
from tvm.tir.functor import substitute, uses_any, vars_in
from tvm.tir.op.arith import is_one
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.analysis.interval import interval_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.stmt import BlockRealize


def asked_beyond_domains(realize: BlockRealize, loops: Mapping[Var, Range]) -> list[PrimExpr]:
    """The conditions on block variables under which the block runs, but for their domains.

    for i0, i1 in T.grid(3, 8):
        v = T.axis.spatial(20, i0 * 8 + i1)
        T.where(i0 * 8 + i1 < 20 and i0 * 8 + i1 < 16)      ->      [v < 16]
    """
    if is_one(realize.predicate):
        return []
    told = _loops_from_variables(realize, loops)
    values = [(value, iv.var) for value, iv in zip(realize.iter_values, realize.block.iter_vars)]
    analyzer = Analyzer()
    for iv in realize.block.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    found: list[PrimExpr] = []
    for condition in conjuncts(realize.predicate):
        if _is_of_idle_loops(condition, realize, loops) and _holds_at_first(condition, loops):
            continue
        plain = _limit_of_value(condition, values, loops)
        told_of = substitute(condition, told) if plain is None else plain
        on_variables = analyzer.simplify(told_of)
        if is_one(on_variables) or analyzer.can_prove(on_variables):
            continue
        if uses_any(on_variables, loops):
            raise Illegal(
                f"block {realize.block.name_hint!r} runs where {condition}, which its variables "
                "do not tell",
                legal="a predicate on loops that bind variables of the block",
                spots=[realize.block],
                fast="The predicate of the block cannot be told of its block variables",
            )
        found.append(on_variables)
    return found


def conditions_without(realize: BlockRealize, loops: Mapping[Var, Range]) -> list[PrimExpr]:
    """The conditions of the predicate, loops of one iteration among `loops` taken out of them."""
    still = {var: rng.min for var, rng in loops.items() if is_one(rng.extent)}
    found: list[PrimExpr] = []
    for condition in conjuncts(realize.predicate):
        told = substitute(condition, still)
        found.append(condition if told is condition else Analyzer().simplify(told))
    return found


def guard_of_idle_loops(
    condition: PrimExpr,
    realize: BlockRealize,
    inner: Mapping[Var, Range],
    outer: Mapping[Var, Range],
) -> PrimExpr | None:
    """A limit of loops that no variable names, as one of the outer of them; None for others.

    for tx, i in T.grid(8, 2):
        v = T.axis.spatial(1, 0)
        T.where(tx * 2 + i < 1)                             ->      tx * 2 < 1
    """
    idle = _is_of_idle_loops(condition, realize, {**outer, **inner})
    if not idle or not uses_any(condition, outer):
        return None
    assert isinstance(condition, LT), "as loops are divided"
    analyzer = Analyzer()
    for var, rng in outer.items():
        analyzer.bind(var, rng)
    low = interval_of(condition.a, inner, analyzer)
    return None if low is None else analyzer.simplify(LT(low[0], condition.b))


def _is_of_idle_loops(
    condition: PrimExpr, realize: BlockRealize, loops: Mapping[Var, Range]
) -> bool:
    """True for a limit of loops that bind no variable of the block, as one value needs none."""
    if not isinstance(condition, LT) or uses_any(condition.b, loops):
        return False
    named = set(vars_in(*realize.iter_values))
    moving = {n for n in vars_in(condition.a) if n in loops}
    return bool(moving) and not moving & named


def _holds_at_first(condition: PrimExpr, loops: Mapping[Var, Range]) -> bool:
    first = {var: rng.min for var, rng in loops.items()}
    return bool(Analyzer().can_prove(substitute(condition, first)))


def _limit_of_value(
    condition: PrimExpr, values: Sequence[tuple[PrimExpr, Var]], loops: Mapping[Var, Range]
) -> PrimExpr | None:
    """A comparison of the very value that a variable is bound to, as one of the variable."""
    if not isinstance(condition, (LT, LE, GT, GE)) or uses_any(condition.b, loops):
        return None
    analyzer = Analyzer()
    for value, var in values:
        offset = analyzer.simplify(condition.a - value)
        if uses_any(value, loops) and not uses_any(offset, loops):
            return type(condition)(var + offset, condition.b)
    return None


def _loops_from_variables(
    realize: BlockRealize, loops: Mapping[Var, Range]
) -> dict[Var, PrimExpr]:
    """Loop variables in terms of block variables, those that are determined by them."""
    pairs = list(zip(realize.iter_values, realize.block.iter_vars))
    plain: dict[Var, PrimExpr] = {
        value: iv.var for value, iv in pairs if isinstance(value, Var) and value in loops
    }
    asked = {node for node in vars_in(realize.predicate) if node in loops}
    if asked <= set(plain):
        return plain
    moving = [(value, iv) for value, iv in pairs if uses_any(value, loops)]
    level, predicate = IterMapLevel.Bijective, realize.predicate
    values = [value for value, _ in moving]
    found = detect_iter_map(values, loops, predicate, level, allow_padding=False)
    if not found.indices:  # a predicate beyond the splits' own
        found = detect_iter_map(values, loops, True, level, allow_padding=False)
    if not found.indices:
        return plain
    return {**(inverse_if_any(found.indices, [iv.var for _, iv in moving]) or {}), **plain}
