"""One check of an index, and how far it has risen from the access that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.span import Span
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import Written
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.functor import substitute, walk
from tvm.tir.op import arith as ops
from tvm.tir.renew_defs import DefRenewer

from .analyzed_mutator import as_fact, bare_condition
from .index_look import look

N = TypeVar("N", bound=s.Stmt)
Layer = s.For | PrimExpr  # a loop to go through, or a condition under which the check matters


class IndexCheck:
    """`inside` holds in all iterations of the loops, where the conditions do."""

    __slots__ = (
        "_alone", "_lanes", "_layers", "_note", "_stores", "inside", "reads", "span", "uses",
    )  # fmt: skip

    def __init__(
        self, inside: PrimExpr, note: PrimExpr, stores: bool, span: Span | None, alone: bool,
        lanes: int, layers: tuple[Layer, ...], uses: frozenset[e.Var], reads: frozenset[e.Var],
    ) -> None:  # fmt: skip
        self.inside: Final = inside
        self._note: Final = note
        self._stores: Final = stores
        self.span: Final = span
        self._alone: Final = alone  # it reads what only an earlier check lets it read
        self._lanes: Final = lanes  # how many numbers of 32 bits an instruction compares
        self._layers: Final = layers  # from the inside out
        self.uses: Final = uses
        self.reads: Final = reads

    @classmethod
    def of(
        cls, inside: PrimExpr, note: PrimExpr, stores: bool, span: Span | None, alone: bool,
        lanes: int,
    ) -> IndexCheck:  # fmt: skip
        """The check right at its access."""
        return cls(inside, note, stores, span, alone, lanes, (), *_names(inside))

    def same(self, other: IndexCheck) -> bool:
        """The other check would find the same, for the same access."""
        return (
            (other._stores or not self._stores)
            and len(self._layers) == len(other._layers)
            and all(_same_layer(a, b) for a, b in zip(self._layers, other._layers))
            and expr_deep_equal(self.inside, other.inside)
        )

    def depends_on(self, written: Written) -> bool:
        """What the check reads may change there."""
        if not self.reads:
            return False
        return written.anything or any(var in written.data for var in self.reads)

    def under(self, condition: PrimExpr) -> IndexCheck:
        """The check where a condition holds."""
        uses, reads = _names(condition)
        return self._with(condition, self.uses | uses, self.reads | reads)

    def out_of(self, loop: s.For, analyzer: Analyzer) -> IndexCheck | None:
        """The check ahead of a loop that it is in; None if it belongs inside."""
        self = self._at_first(loop, analyzer)
        if loop.loop_var not in self.uses:
            if isinstance(loop.extent, e.IntImm) and loop.extent.value > 0:
                return self
            return self.under(ops.greater(loop.extent, ops.const(0, loop.extent.dtype)))
        # a load is checked as late as a block of indices allows: then they are still in the cache
        covers = any(isinstance(layer, s.For) for layer in self._layers)
        if not self._stores and (covers or loop.kind is s.ForKind.PARALLEL):
            return None
        return self.along(loop)

    def along(self, loop: s.For) -> IndexCheck:
        """The check for all iterations of a loop."""
        covers = any(isinstance(layer, s.For) for layer in self._layers)
        kind = s.ForKind.SERIAL
        if loop.kind is s.ForKind.PARALLEL or (not covers and _fits_vectors(loop)):
            kind = loop.kind if loop.kind is s.ForKind.PARALLEL else s.ForKind.VECTORIZED
        copied = s.For(loop.loop_var, loop.min, loop.extent, kind, s.Evaluate(0), None,
                       loop.annotations, loop.span)  # fmt: skip
        uses, reads = _names(loop.min, loop.extent)
        return self._with(copied, (self.uses - {loop.loop_var}) | uses, self.reads | reads)

    def covers(self) -> int:
        """How many indices it looks at; 0 if that is not known, or a condition says which."""
        count = 0 if self._stores or self._alone else 1
        for layer in self._layers:
            extent = layer.extent if isinstance(layer, s.For) else None
            count *= extent.value if isinstance(extent, e.IntImm) else 0
        return count

    def at(self, values: dict[e.Var, PrimExpr], lanes: int) -> IndexCheck:
        """The check where variables have values, by vectors of so many lanes."""
        note = substitute(self._note, values)
        inside = substitute(self.inside, values)
        new = IndexCheck.of(inside, note, self._stores, self.span, self._alone, lanes)
        for layer in self._layers:
            if isinstance(layer, s.For):
                new = new.along(substitute(layer, values))
            else:
                new = new.under(substitute(layer, values))
        return new

    def _at_first(self, loop: s.For, analyzer: Analyzer) -> IndexCheck:
        """In one iteration, if only conditions depend on it that hold in the first or in none."""
        var = loop.loop_var
        if var in _names(self.inside)[0]:
            return self
        layers: list[Layer] = []
        for layer in self._layers:
            if isinstance(layer, s.For):
                if var in _names(layer.min, layer.extent)[0]:
                    return self
            elif var in _names(layer)[0]:
                first = substitute(layer, {var: loop.min})
                with analyzer.constraint_scope(as_fact(layer)):
                    if not analyzer.can_prove(bare_condition(first)):
                        return self
                layer = first
            layers.append(layer)
        return IndexCheck(self.inside, self._note, self._stores, self.span, self._alone,
                          self._lanes, tuple(layers), self.uses - {var}, self.reads)  # fmt: skip

    def _with(self, layer: Layer, uses: frozenset[e.Var], reads: frozenset[e.Var]) -> IndexCheck:
        layers = (*self._layers, layer)
        return IndexCheck(self.inside, self._note, self._stores, self.span, self._alone,
                          self._lanes, layers, uses, reads)  # fmt: skip

    def shape(self) -> tuple[object, ...]:
        """Checks of equal shapes are made in one go."""
        own = (self,) if self._alone else ()
        layers = [x.loop_var if isinstance(x, s.For) else x for x in self._layers]
        return (*own, *layers)

    def serial_layers(self) -> int:
        """How many layers, from the inside, lie within one iteration of a parallel loop."""
        for depth, layer in enumerate(self._layers):
            if isinstance(layer, s.For) and layer.kind is s.ForKind.PARALLEL:
                return depth
        return len(self._layers)

    def wrapped(self, stmt: s.Stmt, start: int, stop: int, one_by_one: bool = False) -> s.Stmt:
        """The statement within some of the layers."""
        for layer in self._layers[start:stop]:
            if isinstance(layer, s.For):
                kind = s.ForKind.SERIAL if one_by_one else layer.kind
                stmt = s.For(layer.loop_var, layer.min, layer.extent, kind, stmt, None,
                             layer.annotations, layer.span)  # fmt: skip
            else:
                stmt = s.IfThenElse(layer, stmt, None, self.span)
        return stmt

    def assertion(self) -> s.Stmt:
        """The check of one index."""
        return s.AssertStmt(self.inside, self._note, s.Evaluate(0), self.span)

    def loops(self, stop: int) -> bool:
        """Whether there is a loop among the first layers."""
        return any(isinstance(layer, s.For) for layer in self._layers[:stop])

    def innermost(self) -> s.For | None:
        """The loop right around the check."""
        return self._layers[0] if self._layers and isinstance(self._layers[0], s.For) else None

    def lanes(self) -> int:
        return self._lanes

    def depth(self) -> int:
        return len(self._layers)


def with_body(stmt: N, body: s.Stmt) -> N:
    """The same statement around another body."""
    return type(stmt).from_fields({**stmt.field_values(), "body": body})


def checking(checks: Sequence[IndexCheck]) -> s.Stmt:
    """The statements that make the checks."""
    groups: dict[tuple[object, ...], list[IndexCheck]] = {}
    for check in checks:
        groups.setdefault(check.shape(), []).append(check)
    made = [DefRenewer().visit_stmt(_together(group)) for group in groups.values()]
    return s.SeqStmt.flatten(made)


def _together(group: list[IndexCheck]) -> s.Stmt:
    """Checks in the same loops: a quick look at all indices, and a close one if that fails."""
    first = group[0]
    stop, depth = first.serial_layers(), first.depth()
    close = s.SeqStmt.flatten([check.assertion() for check in group])
    exact = first.wrapped(close, 0, stop, one_by_one=True)
    exact = DefRenewer().visit_stmt(exact)  # loops of its own
    if not first.loops(stop):
        return first.wrapped(exact, stop, depth)
    quick = look([check.inside for check in group], first.innermost(), first.lanes())
    step = first.wrapped(quick.step, 1 if quick.whole else 0, stop)
    steps = [quick.clear, step, quick.behind, s.IfThenElse(quick.failed, exact)]
    block = s.Block([], [], [], "indices", s.SeqStmt(steps), None, quick.memory)
    return first.wrapped(s.BlockRealize([], ops.const(True), block), stop, depth)


def _fits_vectors(loop: s.For) -> bool:
    """The iterations are the lanes of vectors."""
    count = loop.extent.value if isinstance(loop.extent, e.IntImm) else 0
    return loop.kind is s.ForKind.VECTORIZED or (count >= 8 and count % 8 == 0)


def _names(*exprs: PrimExpr) -> tuple[frozenset[e.Var], frozenset[e.Var]]:
    """The variables, and the memory that is read."""
    uses, reads = set(), set()
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, e.Var):
                uses.add(node)
            elif isinstance(node, e.BufferLoad):
                reads.add(node.buffer.data)
    return frozenset(uses), frozenset(reads)


def _same_layer(a: Layer, b: Layer) -> bool:
    if isinstance(a, s.For) or isinstance(b, s.For):
        return isinstance(a, s.For) and isinstance(b, s.For) and a.loop_var is b.loop_var
    return a is b or expr_deep_equal(a, b)
