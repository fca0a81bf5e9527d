"""GPU threads: one after the other, or, where they wait for each other, as fibers in step.

A fiber is a Python thread of which exactly one runs at a time; it gives way at barriers only, and
the turns go round in the order of the thread numbers, so every run of a program is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.error import message
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .errors import InterpreterError
from .expr import Code, Frame
from .values import numpy_dtype

if TYPE_CHECKING:
    from .stmt import StmtCompiler

Step = Callable[[Frame], None]
BARRIER = "tir.tvm_storage_sync"
_turn = threading.local()


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
        self.places = [compiler.layout.place(v) for v in self.vars]
        self.kind = numpy_dtype(self.vars[0].dtype)

    def numbers(self, frame: Frame) -> Any:
        """The thread numbers, in order."""
        low = 0 if self.low is None else int(self.low(frame))
        return np.arange(low, low + int(self.extent(frame)), dtype=self.kind)


def compile_threads(compiler: StmtCompiler, op: Any) -> Step:
    """The closure of a thread-bound loop (or launch attribute) and all directly within it."""
    axes: list[_Axis] = []
    stmt: s.Stmt = op
    tags: set[str] = set()
    while (tag := _thread_tag(stmt)) is not None and tag not in tags:
        if axes and _waits(stmt) and not _same_group(axes[-1].tag, tag):
            break  # threads of a block wait for each other; blocks do not
        axes.append(_Axis(compiler, stmt))
        tags.add(tag)
        stmt = stmt.body  # type: ignore[attr-defined]
    body = compiler.compile_stmt(stmt)
    in_step = _waits(stmt) and axes[0].tag.startswith("threadIdx")

    def run(frame: Frame) -> None:
        every = product(*[axis.numbers(frame) for axis in axes])
        if in_step:
            _run_fibers(frame, axes, every, body)
            return
        for numbers in every:
            _set(frame, axes, numbers)
            body(frame)

    return run


def _thread_tag(stmt: s.Stmt) -> str | None:
    if isinstance(stmt, s.For) and stmt.kind == s.ForKind.THREAD_BINDING:
        return "" if stmt.thread_binding is None else stmt.thread_binding.thread_tag
    launch = isinstance(stmt, s.AttrStmt) and stmt.attr_key in ("thread_extent", "virtual_thread")
    if launch and isinstance(stmt.node, e.IterVar):  # type: ignore[attr-defined]
        return str(stmt.node.thread_tag)  # type: ignore[attr-defined]
    return None


def _same_group(a: str, b: str) -> bool:
    return a.split(".")[0] == b.split(".")[0]


def _waits(stmt: s.Stmt) -> bool:
    return any(isinstance(n, e.Call) and getattr(n.op, "name", "") == BARRIER for n in walk(stmt))


def _set(frame: Frame, axes: list[_Axis], numbers: tuple[Any, ...]) -> None:
    for axis, number in zip(axes, numbers):
        for place in axis.places:
            frame[place] = number


class _Fiber(threading.Thread):
    """One thread of the program; it runs only while it has the turn."""

    def __init__(self, frame: Frame, body: Step) -> None:
        super().__init__(daemon=True)
        self.frame, self.body = frame, body
        self.go, self.paused = threading.Semaphore(0), threading.Semaphore(0)
        self.error: BaseException | None = None
        self.finished = False

    def run(self) -> None:
        self.go.acquire()
        _turn.fiber = self
        try:
            with np.errstate(all="ignore"):
                self.body(self.frame)
        except BaseException as error:  # handed to the caller by `advance`
            self.error = error
        self.finished = True
        self.paused.release()

    def wait(self) -> None:
        """Give the turn back until all others have come as far."""
        self.paused.release()
        self.go.acquire()

    def advance(self) -> None:
        """Run up to the next barrier, or to the end."""
        self.go.release()
        self.paused.acquire()
        if self.error is not None:
            raise self.error


def _run_fibers(
    frame: Frame, axes: list[_Axis], every: Iterator[tuple[Any, ...]], body: Step
) -> None:
    fibers = []
    for numbers in every:
        own = frame.copy()
        _set(own, axes, numbers)
        fibers.append(_Fiber(own, body))
    for fiber in fibers:
        fiber.start()
    while fibers:
        for fiber in fibers:
            fiber.advance()
        left = [fiber for fiber in fibers if not fiber.finished]
        if left and len(left) < len(fibers):
            raise InterpreterError(
                message(
                    "run threads that wait for each other",
                    found=f"{len(fibers) - len(left)} of {len(fibers)} threads ended while the "
                    "others wait at a barrier",
                    legal="barriers that all threads of a block reach",
                )
            )
        fibers = left


def wait_for_others() -> None:
    """A barrier: go on when all threads of the block have come here."""
    fiber: _Fiber | None = getattr(_turn, "fiber", None)
    if fiber is not None:
        fiber.wait()
