"""GPU threads: one after the other, or, where they need each other, as fibers in step.

Threads need each other where they wait at barriers, exchange values, or pass values on through
memory that they share. Before barriers are inserted, a program means that its statements are run
by all threads, one statement after the other; `lockstep` does that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import walk

from .expr import Code, Frame
from .fibers import Group, Steps, is_shared
from .memory import Pointer
from .steps import EXCHANGES, Flow, StepCompiler, is_barrier, is_exchange, one_for_all
from .stmt import Step, StmtCompiler, storage_scope
from .values import numpy_dtype


class _Axis:
    """One thread axis: where its number is kept, and how many threads there are."""

    def __init__(self, compiler: StmtCompiler, op: Any) -> None:
        if isinstance(op, s.For):
            binding = op.thread_binding
            self.tag = "" if binding is None else binding.thread_tag
            self.vars = [op.loop_var] if binding is None else [op.loop_var, binding.var]
            self.low: Code | None = compiler.compile(op.min)
            self.extent = compiler.compile(op.extent)
        else:
            iter_var = op.node
            self.tag = iter_var.thread_tag
            self.vars, self.low = [iter_var.var], None
            self.extent = compiler.compile(op.value)
        self.slots = [compiler.layout.slot(v) for v in self.vars]
        self.kind = numpy_dtype(self.vars[0].dtype)

    def numbers(self, frame: Frame) -> Any:
        """The thread numbers, in order."""
        low = 0 if self.low is None else int(self.low(frame))
        return np.arange(low, low + int(self.extent(frame)), dtype=self.kind)


class _Launch:
    """Thread-bound loops (or launch attributes) directly within each other, and what they run."""

    def __init__(self, compiler: StmtCompiler, op: Any) -> None:
        self.axes: list[_Axis] = []
        stmt: s.Stmt = op
        tags: set[str] = set()
        while (tag := _thread_tag(stmt)) is not None and tag not in tags:
            if self.axes and not _same_group(self.axes[-1].tag, tag) and _meet(stmt):
                break  # threads of a block wait for each other; blocks do not
            self.axes.append(_Axis(compiler, stmt))
            tags.add(tag)
            stmt = stmt.body  # type: ignore[attr-defined]
        self.stmt = stmt
        self.in_step = self.axes[0].tag.startswith("threadIdx") and _meet(stmt)

    def threads(self, frame: Frame) -> Iterator[None]:
        """The frame at each thread, one after the other."""
        for numbers in product(*[axis.numbers(frame) for axis in self.axes]):
            _set(frame, self.axes, numbers)
            yield


def compile_threads(compiler: StmtCompiler, op: Any) -> Step:
    """The closure of a thread-bound loop (or launch attribute) and all directly within it."""
    launch = _Launch(compiler, op)
    if launch.in_step:
        return _in_step(compiler, op, launch)
    body = compiler.compile_stmt(launch.stmt)

    def run(frame: Frame) -> None:
        for _ in launch.threads(frame):
            body(frame)

    return run


def thread_steps(compiler: StepCompiler, op: Any) -> Steps:
    """The same within a thread that may have to wait, as a generator."""
    launch = _Launch(compiler, op)
    if launch.in_step:
        return one_for_all(_in_step(compiler, op, launch))
    body = compiler.steps(launch.stmt)

    def run(frame: Frame) -> Flow:
        for _ in launch.threads(frame):
            yield from body(frame)

    return run


def _in_step(compiler: StmtCompiler, op: Any, launch: _Launch) -> Step:
    """Threads that need each other, as fibers."""
    axes, stmt = launch.axes, launch.stmt
    if not any(map(is_barrier, walk(stmt))) or "warp" in _passed_on(stmt):
        body = compiler.program.in_lockstep(compiler, [v for axis in axes for v in axis.vars], stmt)
    else:
        body = StepCompiler(compiler).steps(stmt)
    warp_size = compiler.program.warp_size
    private = _allocated_around(stmt)
    if not isinstance(op, s.AttrStmt):
        # a loop is no launch yet: what is allocated around it is there once for all its threads,
        # but for what they exchange
        exchanged = _exchanged(stmt)
        private = {var: buffers for var, buffers in private.items() if var in exchanged}
    memories = [compiler.layout.slot(var) for var in private]
    views = [compiler.layout.slot(buffer) for found in private.values() for buffer in found]

    def run(frame: Frame) -> None:
        ranges = [axis.numbers(frame) for axis in axes]
        strides = _strides([axis.tag for axis in axes], [len(r) for r in ranges])
        group = Group(warp_size)
        members = []
        for position in product(*[range(len(r)) for r in ranges]):
            numbers = tuple(r[i] for r, i in zip(ranges, position))
            number = sum(i * stride for i, stride in zip(position, strides))
            members.append((number, numbers))
        for number, numbers in sorted(members, key=lambda m: m[0]):
            own = frame.copy()
            _set(own, axes, numbers)
            for memory in memories:
                if own[memory] is not None:
                    own[memory] = Pointer(own[memory].data.copy(), own[memory].offset)
            for view in views:
                own[view] = None
            of = {tuple(axis.vars): int(n) for axis, n in zip(axes, numbers)}
            group.add(of, number, own, body)
        group.run()

    return run


def _strides(tags: list[str], extents: list[int]) -> list[int]:
    """How the numbers of a thread make the one in its block: x moves first, then y, then z."""
    strides = [0] * len(tags)
    reach = 1
    for at in sorted(range(len(tags)), key=lambda i: tags[i]):
        strides[at] = reach
        reach *= extents[at]
    return strides


def _thread_tag(stmt: s.Stmt) -> str | None:
    if isinstance(stmt, s.For) and stmt.kind == s.ForKind.THREAD_BINDING:
        return "" if stmt.thread_binding is None else stmt.thread_binding.thread_tag
    launch = isinstance(stmt, s.AttrStmt) and stmt.attr_key in ("thread_extent", "virtual_thread")
    if launch and isinstance(stmt.node, e.IterVar):  # type: ignore[attr-defined]
        return str(stmt.node.thread_tag)  # type: ignore[attr-defined]
    return None


def _same_group(a: str, b: str) -> bool:
    return a.split(".")[0] == b.split(".")[0]


def _meet(stmt: s.Stmt) -> bool:
    """Whether threads that run a statement need each other."""
    return any(is_exchange(n) or is_barrier(n) for n in walk(stmt)) or bool(_passed_on(stmt))


def _passed_on(stmt: s.Stmt) -> set[str]:
    """The scopes of memory of several threads that is both written and read."""
    written, read = set(), set()
    for node in walk(stmt):
        if isinstance(node, s.BufferStore):
            written.add(node.buffer.data)
        elif isinstance(node, e.BufferLoad):
            read.add(node.buffer.data)
    return {scope for var in written & read if is_shared(scope := storage_scope(var))}


def _allocated_around(stmt: s.Stmt) -> dict[e.Var, set[Buffer]]:
    """Memory of each thread that is allocated around their launch, and the buffers over it."""
    found: dict[e.Var, set[Buffer]] = {}
    within: set[e.Var] = set()
    for node in walk(stmt):
        if isinstance(node, s.Allocate):
            within.add(node.buffer_var)
        elif isinstance(node, s.Block):
            within.update(buffer.data for buffer in node.alloc_buffers)
        elif isinstance(node, (s.BufferStore, e.BufferLoad)):
            found.setdefault(node.buffer.data, set()).add(node.buffer)
    return {
        var: buffers
        for var, buffers in found.items()
        if var not in within and storage_scope(var) == "local"
    }


def _exchanged(stmt: s.Stmt) -> set[e.Var]:
    """The memory that threads give to each other and take from each other."""
    return {
        part.buffer.data
        for node in walk(stmt)
        if e.op_name(node) in EXCHANGES
        for part in walk(node)
        if isinstance(part, e.BufferLoad)
    }


def _set(frame: Frame, axes: list[_Axis], numbers: tuple[Any, ...]) -> None:
    for axis, number in zip(axes, numbers):
        for slot in axis.slots:
            frame[slot] = number
