"""Looks for a whole context of patterns in a dataflow block.

The patterns that the context ties together are the nodes of a small graph, the block is the large
one. Patterns are given values one by one, most telling first, each next to one that has its value;
a choice that leads nowhere is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relax.base_expr import Id
from tvm.relax.expr import Call, DataflowBlock, MatchCast, Tuple, TupleGetItem, Var
from tvm.relax.shape_math import same_shape
from tvm.relax.struct_info import TensorStructInfo

from .context import Edge, PatternContext
from .matcher import EMPTY, Match, Matcher
from .pattern import ANY_INDEX, DFPattern, SameShapeConstraint, VarPattern, WildcardPattern

# Calls whose operands are the fields of their tuple of arguments.
WITH_TUPLE = frozenset(
    ["relax.call_tir", "relax.call_dps_packed", "relax.call_tir_inplace",
     "relax.call_tir_with_grad"]
)  # fmt: skip


def operands(value: RelaxExpr) -> Sequence[RelaxExpr]:
    """The operands of a bound value, in the order of the edges' operand indices."""
    if isinstance(value, Call):
        if isinstance(value.op, Op) and value.op.name in WITH_TUPLE and len(value.args) > 1:
            packed = value.args[1]
            return packed.fields if isinstance(packed, Tuple) else (packed,)
        return value.args
    if isinstance(value, Tuple):
        return value.fields
    if isinstance(value, TupleGetItem):
        return (value.tuple_value,)
    return (value,) if isinstance(value, Var) else ()


def _flat(exprs: Sequence[RelaxExpr]) -> Iterator[RelaxExpr]:
    for expr in exprs:
        if isinstance(expr, Tuple):
            yield from _flat(expr.fields)
        else:
            yield expr


class _Block:
    """Who uses whom in a block."""

    def __init__(self, dfb: DataflowBlock) -> None:
        self.values: dict[Id, RelaxExpr] = {}
        self.vars: list[Var] = []
        self.users: dict[Id, dict[Id, Var]] = {}
        outside: dict[Id, Var] = {}
        for binding in dfb.bindings:
            for used in _flat(operands(binding.value)):
                if isinstance(used, Var):
                    self.users.setdefault(used.vid, {})[binding.var.vid] = binding.var
                    if used.vid not in self.values:
                        outside.setdefault(used.vid, used)
            self.vars.append(binding.var)
            if not isinstance(binding, MatchCast):
                self.values[binding.var.vid] = binding.value
        bound = {var.vid for var in self.vars}
        self.vars.extend(var for vid, var in outside.items() if vid not in bound)


class _Search:
    """The search for values of all patterns of a context."""

    def __init__(self, context: PatternContext, dfb: DataflowBlock) -> None:
        self.block = _Block(dfb)
        self.matcher = Matcher(self.block.values)
        self.edges_of: dict[DFPattern, list[Edge]] = {}
        for edge in context.edges:
            self.edges_of.setdefault(edge.producer, []).append(edge)
            self.edges_of.setdefault(edge.consumer, []).append(edge)
        self.same_shapes = [c for c in context.constraints if isinstance(c, SameShapeConstraint)]
        for constraint in self.same_shapes:
            for pattern in constraint.args:
                self.edges_of.setdefault(pattern, [])
        self.order = self._order()

    def _order(self) -> list[DFPattern]:
        """Patterns so that each but the first of its kin follows one it is tied to."""
        left = dict.fromkeys(self.edges_of)
        ordered: list[DFPattern] = []
        near: dict[DFPattern, None] = {}
        while left:
            among = near or left
            first = min(among, key=_vagueness)
            ordered.append(first)
            del left[first]
            near.pop(first, None)
            for edge in self.edges_of[first]:
                for other in (edge.producer, edge.consumer):
                    if other in left:
                        near[other] = None
        return ordered

    def run(self) -> dict[DFPattern, RelaxExpr] | None:
        """Values for all patterns; the choices still open stand on an explicit stack."""
        found: list[tuple[DFPattern, RelaxExpr]] = []
        matches: list[Match] = [EMPTY]
        if not self.order:
            return None
        stack = [self._candidates(self.order[0], {})]
        while stack:
            pattern = self.order[len(stack) - 1]
            chosen = dict(found)
            for expr in stack[-1]:
                match = self._fits(pattern, expr, chosen, matches[-1])
                if match is not None:
                    break
            else:
                stack.pop()
                if found:
                    found.pop()
                    matches.pop()
                continue
            found.append((pattern, expr))
            matches.append(match)
            if len(found) == len(self.order):
                # patterns within the others have values too
                return {**match.exprs, **dict(found)}
            stack.append(self._candidates(self.order[len(stack)], dict(found)))
        return None

    def _candidates(
        self, pattern: DFPattern, chosen: dict[DFPattern, RelaxExpr]
    ) -> Iterator[RelaxExpr]:
        """What a pattern may match, judged by a neighbour that has its value."""
        for edge in self.edges_of[pattern]:
            other = edge.consumer if edge.producer is pattern else edge.producer
            if other not in chosen or other is pattern:
                continue
            if edge.producer is pattern:
                value = self.matcher.value_of(chosen[other])
                used = _at(operands(value), edge.operand_index)
                # as in v0.22, what is bound to no variable is no node of the block's graph
                return iter([expr for expr in used if isinstance(expr, Var)])
            producer = chosen[other]
            users = self.block.users.get(producer.vid, {}) if isinstance(producer, Var) else {}
            return iter(list(users.values()))
        return iter(self.block.vars)

    def _fits(
        self,
        pattern: DFPattern,
        expr: RelaxExpr,
        chosen: dict[DFPattern, RelaxExpr],
        match: Match,
    ) -> Match | None:
        """The match with this choice too, if it keeps all that is known."""
        if isinstance(expr, Var) and any(
            isinstance(other, Var) and other.vid is expr.vid for other in chosen.values()
        ):
            return None
        result = self.matcher.match(pattern, expr, match)
        if result is None:
            return None
        now = {**chosen, pattern: expr}
        for edge in self.edges_of[pattern]:
            producer, consumer = now.get(edge.producer), now.get(edge.consumer)
            both = producer is not None and consumer is not None
            if both and not self._holds(edge, producer, consumer):  # type: ignore[arg-type]
                return None
        for constraint in self.same_shapes:
            if pattern in constraint.args and not _one_shape(constraint, now):
                return None
        return result

    def _holds(self, edge: Edge, producer: RelaxExpr, consumer: RelaxExpr) -> bool:
        used = list(_at(operands(self.matcher.value_of(consumer)), edge.operand_index))
        if not any(self._identical(producer, expr) for expr in used):
            return False
        if edge.only and isinstance(producer, Var):
            return len(self.block.users.get(producer.vid, {})) == 1
        return True

    def _identical(self, a: RelaxExpr, b: RelaxExpr) -> bool:
        return a is b or (isinstance(a, Var) and isinstance(b, Var) and a.vid is b.vid)


def _at(exprs: Sequence[RelaxExpr], index: int) -> Iterator[RelaxExpr]:
    """The operand of this number, or all of them, the fields of tuples too."""
    if index == ANY_INDEX:
        yield from _flat(exprs)
        yield from (expr for expr in exprs if isinstance(expr, Tuple))
    elif index < len(exprs):
        yield exprs[index]


def _vagueness(pattern: DFPattern) -> int:
    if isinstance(pattern, WildcardPattern):
        return 2
    return 1 if isinstance(pattern, VarPattern) else 0


def _one_shape(constraint: SameShapeConstraint, found: dict[DFPattern, RelaxExpr]) -> bool:
    infos = [found[arg].struct_info_ for arg in constraint.args if arg in found]
    shapes = [info.values if isinstance(info, TensorStructInfo) else None for info in infos]
    first = shapes[0]
    return first is not None and all(s is not None and same_shape(first, s) for s in shapes)


def match_block(
    context: PatternContext, dfb: DataflowBlock
) -> dict[DFPattern, RelaxExpr] | None:
    """Values in the block for all patterns that the context ties together, or None."""
    if not isinstance(dfb, DataflowBlock):
        raise TypeError(f"match_dfb looks at a DataflowBlock, found {type(dfb).__name__}")
    return _Search(context, dfb).run()
