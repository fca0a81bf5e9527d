"""Fibers: threads of a block of which exactly one runs at a time, in the order of their numbers.

A fiber runs until it stops: at a barrier, at an exchange of values, or at its end. When all have
stopped, those that exchange values within a warp go on first, then, all being there, those at the
barrier. So every run of a program is the same.

Statements in which a fiber may stop are generators (`steps` makes them). The expression that has to
wait raises `Stop`; when the others have come, it is evaluated anew with what they gave.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from tvm.error import message
from tvm.tir.expr import Var

from .errors import InterpreterError
from .expr import Frame
from .memory import Pointer

_turn = threading.local()


class Stop(Exception):
    """A fiber waits until all of the block (or warp) have come as far."""

    def __init__(self, barrier: tuple[str, int], offer: Any = None) -> None:
        super().__init__()
        self.barrier: Final = barrier  # ("block", 0) or ("warp", its number)
        self.offer: Final = offer  # what it gives the others


Steps = Callable[[Frame], Generator[Stop, None, None]]


class Fiber:
    """One thread of the program.

    `number` counts the threads of the block, `of` has the thread's number on each axis, which is
    known by the variables that stand for it.
    """

    def __init__(
        self, group: Group, number: int, of: dict[tuple[Var, ...], int], frame: Frame, body: Steps
    ) -> None:
        self.group, self.number, self.of = group, number, of
        self.run = body(frame)
        self.stopped: Stop | None = None
        self.finished = False
        self.taken: list[tuple[Fiber, Any]] = []  # what they gave, in the order of the threads
        self.answers: list[list[tuple[Fiber, Any]]] = []  # of the stops of this expression
        self.asked = 0  # how many of them it has come to again
        self.allocations: dict[object, int] = {}

    def advance(self) -> None:
        """Run up to the next stop, or to the end."""
        around, _turn.fiber = current(), self
        try:
            self.stopped = next(self.run)
        except StopIteration:
            self.finished = True
        finally:
            _turn.fiber = around

    def stop(self, barrier: tuple[str, int], offer: Any = None) -> list[tuple[Fiber, Any]]:
        """What all of the block (or warp) give here."""
        if self.asked == len(self.answers):
            raise Stop(barrier, offer)
        self.asked += 1
        return self.answers[self.asked - 1]


def answered(code: Callable[[Frame], Any]) -> Callable[[Frame], Generator[Stop, None, Any]]:
    """An expression or simple statement in which its fiber stops; it has no effect before."""

    def run(frame: Frame) -> Generator[Stop, None, Any]:
        fiber = current()
        assert fiber is not None, "only fibers wait"
        answers: list[list[tuple[Fiber, Any]]] = []
        while True:
            fiber.answers, fiber.asked = answers, 0
            try:
                return code(frame)
            except Stop as stop:
                yield stop
            answers.append(fiber.taken)

    return run


class Group:
    """The threads of a block, and the memory that they share."""

    def __init__(self, warp_size: int) -> None:
        self.warp_size: Final = warp_size
        self.fibers: list[Fiber] = []
        self._memory: dict[object, list[Any]] = {}  # a pointer, and how many fibers have it

    def add(self, of: dict[tuple[Var, ...], int], number: int, frame: Frame, body: Steps) -> None:
        self.fibers.append(Fiber(self, number, of, frame, body))

    def run(self) -> None:
        """Run all threads to their ends."""
        ready = self.fibers
        while ready:
            for fiber in ready:
                fiber.advance()
            ready = self._next()

    def _next(self) -> list[Fiber]:
        """Who goes on, with what the others gave."""
        left = [f for f in self.fibers if not f.finished]
        mates: dict[tuple[str, int], list[tuple[Fiber, Any]]] = {}
        warps: list[Fiber] = []
        for fiber in left:
            stop = fiber.stopped
            assert stop is not None, "who has not ended has stopped"
            fiber.taken = mates.setdefault(stop.barrier, [])
            fiber.taken.append((fiber, stop.offer))
            if stop.barrier[0] == "warp":
                warps.append(fiber)
        if warps:
            return warps
        ended = len(self.fibers) - len(left)
        if left and ended:
            raise InterpreterError(
                message(
                    "run threads that wait for each other",
                    found=f"{ended} of {len(self.fibers)} threads ended while the others wait at "
                    "a barrier",
                    legal="barriers that all threads of a block reach",
                )
            )
        return left

    def shared(
        self, fiber: Fiber, key: object, scope: str, make: Callable[[], Pointer]
    ) -> Pointer:
        """Memory that the block (or the warp) has once: the first to come makes it."""
        count = fiber.allocations[key] = fiber.allocations.get(key, 0) + 1
        warp = fiber.number // self.warp_size if scope == "warp" else -1
        entry = self._memory.setdefault((key, count, warp), [None, 0])
        if entry[0] is None:
            entry[0] = make()
        entry[1] += 1
        if entry[1] == len(self.fibers):
            del self._memory[key, count, warp]
        pointer: Pointer = entry[0]
        return pointer


def is_shared(scope: str) -> bool:
    """Whether memory of this scope belongs to several threads."""
    return scope.startswith("shared") or scope == "warp"


def current() -> Fiber | None:
    """The thread that runs, if threads run in step."""
    return getattr(_turn, "fiber", None)


def wait_for_others() -> None:
    """A barrier: go on when all threads of the block have come here."""
    fiber = current()
    if fiber is not None:
        fiber.stop(("block", 0))


def exchange_in_block(offer: Any) -> list[tuple[Fiber | None, Any]]:
    """What all threads of the block offer here."""
    fiber = current()
    return [(None, offer)] if fiber is None else [*fiber.stop(("block", 0), offer)]


def exchange_in_warp(offer: Any, warp_size: int) -> dict[int, Any]:
    """What the threads of the warp that are here offer, by their lanes."""
    fiber = current()
    if fiber is None:
        return {0: offer}
    taken: Sequence[tuple[Fiber, Any]] = fiber.stop(("warp", fiber.number // warp_size), offer)
    return {f.number % warp_size: value for f, value in taken}


def memory(key: object, scope: str, make: Callable[[], Pointer]) -> Pointer:
    """Fresh memory for an allocation: of this thread, or of its block or warp by the scope."""
    fiber = current()
    if fiber is None or not is_shared(scope):
        return make()
    return fiber.group.shared(fiber, key, scope, make)
