"""Loop nests that run as whole numpy operations.

    for i, j, k in T.grid(n, m, l): C[i, j] = C[i, j] + A[i, k] * B[k, j]

runs as `for k: C[i, j] = C[i, j] + A[i, k] * B[k, j]` with i and j standing for all their values.
That is the same because the body is one store whose indices depend on i and j only, no two (i, j)
share an element, every load from C is from the element of the store, and no other buffer that is
read shares memory with C: each element sees its own steps, in the order of k, whatever the others
do. Distinct elements and distinct memory are checked when the nest is entered; where they do not
hold, the iterations run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.ir.op import Op
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk

from .expr import LANES, SHAPE, Code, Frame, only_where
from .intrinsics import RULES
from .memory import put
from .values import is_array, numpy_dtype

if TYPE_CHECKING:
    from .stmt import StmtCompiler

Step = Callable[[Frame], None]
# more iterations at once cost memory and gain nothing
MAX_ITERATIONS: Final = 1 << 20
# fewer are quicker one by one
MIN_ITERATIONS: Final = 4


class _Leaf:
    """What stands in the middle of a nest: one store, guarded or not, in a block or not."""

    def __init__(self, stmt: s.Stmt) -> None:
        self.guards: list[PrimExpr] = []
        self.block: s.BlockRealize | None = None
        self.store: s.BufferStore | None = None
        while self.store is None:
            if isinstance(stmt, s.IfThenElse) and stmt.else_case is None:
                self.guards.append(stmt.condition)
                stmt = stmt.then_case
            elif isinstance(stmt, s.BlockRealize) and self.block is None and not self.guards:
                self.block = stmt
                self.guards.append(stmt.predicate)
                stmt = stmt.block.body
            elif isinstance(stmt, s.BufferStore):
                self.store = stmt
            else:
                break

    @property
    def bindings(self) -> dict[e.Var, PrimExpr]:
        """The block's variables with their values."""
        if self.block is None:
            return {}
        return {iv.var: v for iv, v in zip(self.block.block.iter_vars, self.block.iter_values)}


def compile_nest(compiler: StmtCompiler, loop: s.For) -> Step | None:
    """The closure of a nest that can run at once, or None."""
    loops, leaf = _peel(loop)
    store = leaf.store
    if store is None or not _fits(loops, leaf):
        return None
    moving = _vars_in(store.indices, leaf.bindings)
    wide = [lp for lp in loops if lp.loop_var in moving]
    serial = [lp for lp in loops if lp.loop_var not in moving]
    if not wide:
        return None
    nest = _Nest(compiler, loop, wide, serial, leaf, store)
    return nest.run


def runs_at_once(func: PrimFunc) -> bool:
    """Whether a function is nothing but nests without sums, each one operation of numpy."""
    body = func.body
    if isinstance(body, s.BlockRealize) and not body.iter_values:
        if body.block.match_buffers:
            return False
        body = body.block.body
    return all(
        isinstance(stmt, s.For) and _is_one_step(stmt)
        for stmt in (body.seq if isinstance(body, s.SeqStmt) else (body,))
    )


def _is_one_step(loop: s.For) -> bool:
    loops, leaf = _peel(loop)
    if leaf.store is None or not _fits(loops, leaf):
        return False
    moving = _vars_in(leaf.store.indices, leaf.bindings)
    return all(lp.loop_var in moving for lp in loops)


def _peel(loop: s.For) -> tuple[list[s.For], _Leaf]:
    """The loops of a perfect nest, and what stands in the middle."""
    loops = [loop]
    while isinstance(loops[-1].body, s.For) and loops[-1].body.kind != s.ForKind.THREAD_BINDING:
        loops.append(loops[-1].body)
    return loops, _Leaf(loops[-1].body)


def _fits(loops: Sequence[s.For], leaf: _Leaf) -> bool:
    """The conditions that can be seen without running."""
    names = {lp.loop_var for lp in loops}
    for lp in loops:
        if any(isinstance(n, e.Var) and n in names for x in (lp.min, lp.extent) for n in walk(x)):
            return False
    store = leaf.store
    assert store is not None, "the caller looked"
    if store.predicate is not None or store.buffer.dtype.is_vector:
        return False
    exprs = [*leaf.guards, store.value, *store.indices]
    if leaf.block is not None:
        block = leaf.block.block
        if block.alloc_buffers or block.match_buffers or not _plain_init(block, store):
            return False
        exprs.extend(leaf.block.iter_values)
        exprs.extend([block.init.value] if isinstance(block.init, s.BufferStore) else [])
    if any(isinstance(n, e.BufferLoad) for i in store.indices for n in walk(i)):
        return False
    return all(_is_plain(n, store) for x in exprs for n in walk(x))


def _plain_init(block: s.Block, store: s.BufferStore) -> bool:
    """No init, or one that stores to the element of the body."""
    if block.init is None:
        return True
    init = block.init
    if not isinstance(init, s.BufferStore) or init.predicate is not None:
        return False
    loads = any(isinstance(n, e.BufferLoad) for n in walk(init.value))
    return init.buffer is store.buffer and not loads and _same_element(init.indices, store.indices)


def _is_plain(node: Any, store: s.BufferStore) -> bool:
    if not isinstance(node, PrimExpr) or node.dtype.is_vector:
        return False
    if isinstance(node, e.BufferLoad):
        if node.predicate is not None or node.buffer.dtype.is_vector:
            return False
        return node.buffer is not store.buffer or _same_element(node.indices, store.indices)
    if isinstance(node, e.Call):
        known = isinstance(node.op, Op) and (
            node.op.name in RULES or node.op.name == "tir.if_then_else"
        )
        return known and not node.dtype.is_handle
    return not isinstance(node, (e.ProducerLoad, e.Reduce, e.StringImm))


def _same_element(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    return all(expr_deep_equal(x, y) for x, y in zip(a, b))


def _vars_in(exprs: Sequence[PrimExpr], bindings: dict[e.Var, PrimExpr]) -> set[e.Var]:
    """The variables in expressions, block variables replaced by those of their values."""
    found: set[e.Var] = set()
    stack = list(exprs)
    while stack:
        for node in walk(stack.pop()):
            if isinstance(node, e.Var) and node not in found:
                found.add(node)
                if node in bindings:
                    stack.append(bindings[node])
    return found


class _Nest:
    """One nest: its closures, and the choice made each time it is entered."""

    def __init__(
        self,
        compiler: StmtCompiler,
        loop: s.For,
        wide: Sequence[s.For],
        serial: Sequence[s.For],
        leaf: _Leaf,
        store: s.BufferStore,
    ) -> None:
        layout = compiler.layout
        self.compiler, self.loop = compiler, loop
        self.one_by_one: Step | None = None
        self.ranges = [self._range(lp, layout.slot(lp.loop_var)) for lp in wide]
        self.serial = [self._range(lp, layout.slot(lp.loop_var)) for lp in serial]
        self.block_vars = [
            (layout.slot(var), compiler.compile(value)) for var, value in leaf.bindings.items()
        ]
        # the predicate of a block speaks of loop variables, guards within it of its own
        outer = leaf.guards if leaf.block is None else leaf.guards[:1]
        self.guards = [compiler.compile(g) for g in outer if not _holds(g)]
        # what is guarded in a block is its body, not its init
        self.inner = [compiler.compile(g) for g in leaf.guards[len(outer) :]]
        self.target = compiler.view(store.buffer)
        self.checked_indices = compiler.indices_in("store to", store)
        self.indices = [compiler.compile(i) for i in store.indices]
        self.value = compiler.compile(store.value)
        self.others = [compiler.view(b) for b in _read_buffers(leaf, store)]
        self.lets = [layout.slot(var) for var in _let_vars(leaf, store)]
        self.lanes = [slot for slot, *_ in (*self.ranges, *self.block_vars)] + self.lets
        self.first: Code | None = None
        self.init: Code | None = None
        if leaf.block is not None and isinstance(leaf.block.block.init, s.BufferStore):
            self.first = compiler.first_step(leaf.block.block)
            self.init = compiler.compile(leaf.block.block.init.value)

    def _range(self, loop: s.For, slot: int) -> tuple[int, Code, Code, Any]:
        compile_ = self.compiler.compile
        kind = numpy_dtype(loop.loop_var.dtype)
        return slot, compile_(loop.min), compile_(loop.extent), kind

    def run(self, frame: Frame) -> None:
        """Run the nest: at once if the facts of the moment allow it."""
        values = [
            np.arange(int(low(frame)), int(low(frame)) + int(extent(frame)), dtype=kind)
            for _, low, extent, kind in self.ranges
        ]
        count = 1
        for steps in values:
            count *= steps.size
        if count == 0:
            return
        if count < MIN_ITERATIONS or frame[SHAPE] is not None or self._shares_memory(frame):
            self._run_one_by_one(frame)
            return
        outer = 0
        while count > MAX_ITERATIONS and outer < len(values) - 1:
            count //= values[outer].size
            outer += 1
        if not self._distinct(frame, values):
            self._run_one_by_one(frame)
            return
        self._run_outer(frame, values, outer, 0)

    def _run_one_by_one(self, frame: Frame) -> None:
        if self.one_by_one is None:
            self.one_by_one = self.compiler.serial(self.loop)
            frame.extend([None] * (self.compiler.layout.size - len(frame)))
        self.one_by_one(frame)

    def _shares_memory(self, frame: Frame) -> bool:
        array = self.target(frame)
        return any(np.may_share_memory(array, other(frame)) for other in self.others)

    def _distinct(self, frame: Frame, values: Sequence[Any]) -> bool:
        """No two iterations store to one element (those behind a guard count too)."""
        self._spread(frame, values)
        for slot, start, _, kind in self.serial:
            frame[slot] = kind.type(int(start(frame)))
        self._bind(frame)
        indices = [code(frame) for code in self.indices]
        shape, frame[SHAPE] = frame[SHAPE], None
        if _is_grid(indices, shape):
            return True
        flat = np.zeros(shape, np.int64)
        for index, extent in zip(indices, self.target(frame).shape):
            flat = flat * extent + index
        return _all_differ(flat)

    def _spread(self, frame: Frame, values: Sequence[Any]) -> None:
        """Each wide variable along a dimension of its own."""
        frame[SHAPE], frame[LANES] = tuple(v.size for v in values), self.lanes
        for slot in self.lets:
            frame[slot] = None
        for dim, ((slot, *_), steps) in enumerate(zip(self.ranges, values)):
            shape = [1] * len(values)
            shape[dim] = steps.size
            frame[slot] = steps.reshape(shape)

    def _bind(self, frame: Frame) -> None:
        for slot, value in self.block_vars:
            frame[slot] = value(frame)

    def _run_outer(self, frame: Frame, values: list[Any], outer: int, dim: int) -> None:
        if dim == outer:
            self._spread(frame, values)
            try:
                self._run_serial(frame, 0)
            finally:
                frame[SHAPE] = None
            return
        every = values[dim]
        for i in range(every.size):
            part = [*values[:dim], every[i : i + 1], *values[dim + 1 :]]
            self._run_outer(frame, part, outer, dim + 1)

    def _run_serial(self, frame: Frame, depth: int) -> None:
        if depth == len(self.serial):
            self._step(frame)
            return
        slot, low, extent, kind = self.serial[depth]
        start = int(low(frame))
        for value in np.arange(start, start + int(extent(frame)), dtype=kind):
            frame[slot] = value
            self._run_serial(frame, depth + 1)

    def _step(self, frame: Frame) -> None:
        """One store for all iterations of the wide loops."""
        self._bind(frame)
        chosen = _chosen(frame, self.guards)
        if chosen is None:
            return
        array = self.target(chosen)
        if self.first is not None and self.init is not None:
            self._start(chosen, array)
        inside = _chosen(chosen, self.inner)
        if inside is not None:
            put(array, self.checked_indices(inside, array), self.value(inside))

    def _start(self, frame: Frame, array: Any) -> None:
        assert self.first is not None, "the caller looked"
        assert self.init is not None, "the caller looked"
        first = self.first(frame)
        if is_array(first) and not first.all():
            if not first.any():
                return
            frame = only_where(frame, first)
        elif not is_array(first) and not first:
            return
        put(array, self.checked_indices(frame, array), self.init(frame))


def _chosen(frame: Frame, guards: Sequence[Code]) -> Frame | None:
    """The iterations for which all guards hold, None if there are none."""
    for guard in guards:
        mask = guard(frame)
        if not is_array(mask):
            if not mask:
                return None
        elif not mask.all():
            if not mask.any():
                return None
            frame = only_where(frame, mask)
    return frame


def _holds(guard: PrimExpr) -> bool:
    return isinstance(guard, e.IntImm) and guard.value != 0


def _all_differ(numbers: Any) -> bool:
    """No integer stands twice. Marking each is some fifty times faster than sorting them."""
    low, high = int(numbers.min()), int(numbers.max())
    span = high - low + 1
    if span < numbers.size:
        return False
    if span > 64 * numbers.size:  # the marks would need more memory than the numbers have
        ordered = np.sort(numbers, axis=None)
        return bool((ordered[1:] != ordered[:-1]).all())
    marks = np.zeros(span, bool)
    marks[numbers - low] = True
    return int(np.count_nonzero(marks)) == int(numbers.size)


def _is_grid(indices: Sequence[Any], shape: Sequence[int]) -> bool:
    """Each dimension of the nest moves one index alone, by distinct values."""
    moved: set[int] = set()
    for index in indices:
        if not is_array(index) or index.size == 1:
            continue
        dims = [d for d, n in enumerate(index.shape) if n > 1]
        if len(dims) != 1 or dims[0] in moved:
            return False
        flat = index.reshape(-1)
        steps = flat[1:] - flat[:-1]
        if not ((steps > 0).all() or (steps < 0).all()):
            return False
        moved.add(dims[0])
    return moved == {d for d, n in enumerate(shape) if n > 1}


def _exprs(leaf: _Leaf, store: s.BufferStore) -> list[PrimExpr]:
    values = [] if leaf.block is None else list(leaf.block.iter_values)
    return [*leaf.guards, store.value, *store.indices, *values]


def _let_vars(leaf: _Leaf, store: s.BufferStore) -> list[e.Var]:
    nodes = [n for x in _exprs(leaf, store) for n in walk(x)]
    return list(dict.fromkeys(n.var for n in nodes if isinstance(n, e.Let)))


def _read_buffers(leaf: _Leaf, store: s.BufferStore) -> list[Buffer]:
    nodes = [n for x in _exprs(leaf, store) for n in walk(x)]
    found = {n.buffer: None for n in nodes if isinstance(n, e.BufferLoad)}
    found.pop(store.buffer, None)
    return list(found)
