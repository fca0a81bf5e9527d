"""An engine without machines: a task runs when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from tvm.meta_schedule.cluster import Node


class Gone(Exception):
    """The node went."""


class Started(NamedTuple):
    node: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
    future: Future[Any]

    def finish(self) -> None:
        self.future.set_result(self.func(*self.args))


class FakeEngine:
    def __init__(self, *nodes: Node, at_once: bool = False) -> None:
        self.there = {node.name: node for node in nodes}
        self.started: list[Started] = []
        self.cancelled: list[Future[Any]] = []
        self.at_once = at_once
        self.closed = False

    def nodes(self) -> list[Node]:
        return list(self.there.values())

    def submit(self, node: Node, func: Callable[..., Any], args: Sequence[Any]) -> Future[Any]:
        made = Started(node.name, func, tuple(args), Future())
        self.started.append(made)
        if self.at_once:
            made.finish()
        return made.future

    def cancel(self, future: Future[Any]) -> None:
        self.cancelled.append(future)

    def is_lost(self, error: BaseException) -> bool:
        return isinstance(error, Gone)

    def close(self) -> None:
        self.closed = True
