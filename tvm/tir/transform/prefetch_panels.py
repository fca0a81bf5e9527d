"""Tiles that share a panel of weights fetch the next panel while they compute with this one.

    for t in range(14, annotations={"prefetch_panel": 7}):    # 7 tiles of rows read a panel
        for k in range(512):
            acc += x[t % 7, k] * W[t // 7 * 16384 + k * 32 : ...]
    ->
    for t in range(14):
        for k in range(512):
            prefetch(&W[t // 7 * 16384] + 65536 bytes + (t % 7 * 512 + k) * 19 bytes)
            acc += x[t % 7, k] * W[t // 7 * 16384 + k * 32 : ...]

A network reads its weights once a run, so they come from memory each time. The first tile of a
panel would wait for all of it, and the others leave the memory idle: each fetches its share of what
comes next instead. Weights that one tile reads are fetched a little ahead. An address beyond the
memory does nothing. (Callahan, Kennedy, Porterfield, "Software Prefetching", 1991.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.arith import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, substitute, uses_any, uses_var, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

from .pass_form import tir_pass

PANEL: Final = "prefetch_panel"  # annotation of a loop over tiles: how many read one panel
_LINE: Final = 64
_STREAM: Final = 8192  # bytes ahead where each panel is read once
_SMALLEST: Final = 8192  # bytes of a panel: less comes by itself


@tir_pass("tir.PrefetchPanels")
def PrefetchPanels(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No loop has the annotation; what it asked for is in the innermost loops below."""
    params = {buffer.data for buffer in func.buffer_map.values()}
    return func.with_body(_Fetcher(params).visit_stmt(func.body))


class _Fetcher(StmtExprMutator):
    def __init__(self, params: set[e.Var]) -> None:
        super().__init__()
        self._params = params
        self._tiles: tuple[s.For, int] | None = None
        self._steps: list[s.For] = []  # serial loops within that of the tiles

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        repeats = op.annotations.get(PANEL)
        if repeats is not None:
            outer, self._tiles = self._tiles, (op, int(str(repeats)))
            steps, self._steps = self._steps, []
            made = super().visit_for_(op)
            self._tiles, self._steps = outer, steps
            assert isinstance(made, s.For), "a loop stays one"
            left = {key: value for key, value in made.annotations.items() if key != PANEL}
            return s.For(made.loop_var, made.min, made.extent, made.kind, made.body,
                         made.thread_binding, left, made.span)  # fmt: skip
        if self._tiles is None or op.kind != s.ForKind.SERIAL:
            return super().visit_for_(op)
        self._steps.append(op)
        fetches = [] if _has_steps(op.body) else self._fetches(*self._tiles)
        made = super().visit_for_(op)
        self._steps.pop()
        if not fetches:
            return made
        assert isinstance(made, s.For), "a loop stays one"
        return s.For(made.loop_var, made.min, made.extent, made.kind,
                     s.SeqStmt.flatten(*fetches, made.body), made.thread_binding,
                     made.annotations, made.span)  # fmt: skip

    def _fetches(self, tiles: s.For, repeats: int) -> list[s.Stmt]:
        """What the innermost loop fetches of each buffer that it reads by panels."""
        found: dict[e.Var, list[s.Stmt]] = {}
        for node in walk(self._steps[-1].body):
            if isinstance(node, e.BufferLoad) and node.buffer.data in self._params:
                panel = _panel_of(node, self._steps, tiles, repeats)
                if panel is not None:
                    found.setdefault(node.buffer.data, _share(panel, node, tiles, repeats))
        return [fetch for fetches in found.values() for fetch in fetches]


def _has_steps(body: s.Stmt) -> bool:
    return any(node.kind == s.ForKind.SERIAL for node in statements(body, s.For))


class _Panel(NamedTuple):
    """Memory that the loops read from one end to the other."""

    start: PrimExpr  # index of its first element
    elements: int
    step: PrimExpr  # how many iterations of the innermost loop were before
    steps: int


def _panel_of(
    load: e.BufferLoad, loops: list[s.For], tiles: s.For, repeats: int
) -> _Panel | None:
    """The panel that an element or vector is part of; None if it is read in another order."""
    base = _base_of(load)
    extents = [loop.extent.value for loop in loops if isinstance(loop.extent, e.IntImm)]
    if base is None or len(extents) != len(loops) or not all(ops.is_zero(l.min) for l in loops):
        return None
    pairs = [(loop.loop_var, extent) for loop, extent in zip(loops, extents) if extent > 1]
    names = [name for name, _ in pairs]
    found = linear_equation(base, names)
    if not names or not found or not _is_shared(found[-1], tiles, repeats):
        return None
    scales = [scale.value for scale in found[:-1] if isinstance(scale, e.IntImm)]
    if len(scales) != len(names) or scales[-1] <= 0:
        return None
    step: PrimExpr = ops.const(0, base.dtype)
    steps, elements = 1, scales[-1]
    for (name, extent), scale in zip(reversed(pairs), reversed(scales)):
        if scale != elements:
            return None
        step = ops.add(step, ops.multiply(name, ops.const(steps, base.dtype)))
        steps, elements = steps * extent, elements * extent
    inner = {node.loop_var for node in statements(loops[-1].body, s.For)}
    start = substitute(found[-1], {name: ops.const(0, name.dtype) for name in inner})
    return _Panel(Analyzer().simplify(start), elements, step, steps)


def _base_of(load: e.BufferLoad) -> PrimExpr | None:
    """The index of an element, or of the first of a vector of neighbours."""
    index = load.indices[0] if len(load.indices) == 1 else None
    if isinstance(index, e.Ramp):
        return index.base if ops.is_one(index.stride) and not index.dtype.is_scalable else None
    return None if index is None or index.dtype.lanes > 1 else index


def _is_shared(base: PrimExpr, tiles: s.For, repeats: int) -> bool:
    """Whether the tiles that follow each other read the same."""
    if not uses_var(base, tiles.loop_var) or repeats == 1:
        return True
    dtype = tiles.loop_var.dtype
    group, member = e.Var("group", dtype), e.Var("member", dtype)
    analyzer = Analyzer()
    analyzer.bind(member, Range(0, repeats))
    place = ops.add(ops.multiply(group, ops.const(repeats, dtype)), member)
    told = analyzer.simplify(substitute(base, {tiles.loop_var: place}))
    return not uses_any(told, frozenset([member]))


def _share(panel: _Panel, load: e.BufferLoad, tiles: s.For, repeats: int) -> list[s.Stmt]:
    """What one iteration fetches: its share of the panel behind this one."""
    size = load.buffer.dtype.itemsize
    nbytes = panel.elements * size
    if nbytes < _SMALLEST:
        return []
    share = -(-nbytes // (repeats * panel.steps))
    step, ahead = panel.step, min(nbytes, _STREAM) if repeats == 1 else nbytes
    if repeats > 1:
        analyzer = Analyzer()
        analyzer.bind(tiles.loop_var, Range.from_min_extent(tiles.min, tiles.extent))
        member = analyzer.simplify(tiles.loop_var % repeats)
        step = ops.add(ops.multiply(member, ops.const(panel.steps, step.dtype)), step)
    address = builtin.address_of(e.BufferLoad(load.buffer, [panel.start]))
    offset = ops.multiply(e.Cast("int64", step), ops.const(share, "int64"))
    starts = range(ahead, ahead + share, _LINE)
    places = [ops.add(offset, ops.const(start, "int64")) for start in starts]
    lines = [builtin.handle_add_byte_offset(address, place) for place in places]
    return [s.Evaluate(builtin.prefetch(line)) for line in lines]
