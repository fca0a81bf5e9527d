"""Which node does what, and when: the part that is the same for all engines.

    queue of tasks -> a node with room for the kind of task -> the engine -> result, or once more

Builds go to any node, as many at a time as it has cores; measurements to nodes whose machine is the
asked one, where one runs and one waits, so that nobody idles and nothing piles up. What a node had
when it went is done again elsewhere. All of it is decided in one thread.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Final, Literal, NamedTuple, Protocol

from tvm.error import TVMError, message

Kind = Literal["build", "measure"]
MAX_TRIES: Final = 3
MEASUREMENTS_A_NODE: Final = 2  # one that runs and one that is next
_LOOK_S: Final = 1.0  # how often it is looked who is there
_ANY: Final = ""


class Node(NamedTuple):
    """A machine of a cluster: what it calls itself, what CPU it has, how many cores."""

    name: str
    machine: str
    cores: int


class LostError(TVMError):
    """A task whose node went, as often as it was tried."""


class NoNodeError(TVMError):
    """A task that no node of a cluster can do."""


class Engine(Protocol):
    """What runs a function elsewhere."""

    def nodes(self) -> list[Node]:
        """Who is there now."""

    def submit(self, node: Node, func: Callable[..., Any], args: Sequence[Any]) -> Future[Any]:
        """Start `func(*args)` at a node."""

    def cancel(self, future: Future[Any]) -> None:
        """Let nobody work for nothing, as far as the engine can."""

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error says that the node went, not that the function failed."""

    def close(self) -> None:
        """Leave the cluster."""


class _Task:
    __slots__ = ("args", "func", "kind", "machine", "promise", "tries")

    def __init__(
        self, kind: Kind, machine: str, func: Callable[..., Any], args: Sequence[Any]
    ) -> None:
        self.kind: Final = kind
        self.machine: Final = machine
        self.func: Final = func
        self.args: Final = tuple(args)
        self.promise: Final[Future[Any]] = Future()
        self.tries = 0


class _Running(NamedTuple):
    task: _Task
    node: Node


class Cluster:
    """Tasks for the nodes of an engine; `patience_s` is how long one waits for a fitting node."""

    def __init__(self, engine: Engine, patience_s: float = 60.0) -> None:
        self.engine: Final = engine
        self._patience_s = patience_s
        self._nodes: dict[str, Node] = {}
        self._waiting: dict[tuple[Kind, str], deque[_Task]] = defaultdict(deque)
        self._running: dict[Future[Any], _Running] = {}
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._alone_since: float | None = None
        self._look()
        self._thread = threading.Thread(target=self._serve, name="tvm-cluster", daemon=True)
        self._thread.start()

    @property
    def nodes(self) -> list[Node]:
        """Who was there at the last look."""
        return list(self._nodes.values())

    def submit(
        self, kind: Kind, func: Callable[..., Any], *args: Any, machine: str = _ANY
    ) -> Future[Any]:
        """Do `func(*args)` at a node of the named kind of machine, or at any."""
        task = _Task(kind, machine, func, args)
        self._events.put(lambda: self._waiting[kind, machine].append(task))
        return task.promise

    def cancel(self, promises: Iterable[Future[Any]]) -> None:
        """Drop tasks; what runs is ended as far as the engine can."""
        gone = set(promises)
        self._events.put(lambda: self._drop(gone))

    def close(self) -> None:
        """Take no more tasks, drop those that there are, and leave."""
        def drop_all() -> None:
            running = [r.task for r in self._running.values()]
            waiting = [task for tasks in self._waiting.values() for task in tasks]
            self._drop({task.promise for task in [*running, *waiting]})

        self._events.put(drop_all)
        self._events.put(None)
        self._thread.join()
        self.engine.close()

    # --- in the thread ---

    def _serve(self) -> None:
        looked = time.monotonic()
        while True:
            idle = not self._running and not any(self._waiting.values())
            with contextlib.suppress(queue.Empty):
                event = self._events.get(timeout=None if idle else _LOOK_S)
                while True:  # all that has happened before anything is started
                    if event is None:
                        return
                    event()
                    event = self._events.get_nowait()
            if time.monotonic() - looked >= _LOOK_S:
                self._look()
                looked = time.monotonic()
            self._fill()

    def _drop(self, gone: set[Future[Any]]) -> None:
        for what, tasks in self._waiting.items():
            self._waiting[what] = deque(t for t in tasks if t.promise not in gone)
        for future, running in list(self._running.items()):
            if running.task.promise in gone:
                del self._running[future]
                self.engine.cancel(future)
        for promise in gone:
            promise.cancel()

    def _look(self) -> None:
        """Learn who came; what those had who went is done again."""
        self._nodes = {node.name: node for node in self.engine.nodes()}
        for future, running in list(self._running.items()):
            if running.node.name not in self._nodes:
                del self._running[future]
                self.engine.cancel(future)
                self._again(running.task)

    def _fill(self) -> None:
        """Start what waits, in order, as far as there is room."""
        used: dict[tuple[str, Kind], int] = {}
        for running in self._running.values():
            key = running.node.name, running.task.kind
            used[key] = used.get(key, 0) + 1
        for (kind, machine), tasks in self._waiting.items():
            while tasks and (node := self._free_node(kind, machine, used)) is not None:
                used[node.name, kind] = used.get((node.name, kind), 0) + 1
                self._start(tasks.popleft(), node)
        self._refuse()

    def _free_node(
        self, kind: Kind, machine: str, used: dict[tuple[str, Kind], int]
    ) -> Node | None:
        """The node with the most room for a task, if any has some."""
        best, most = None, 0
        for node in self._nodes.values():
            room = node.cores if kind == "build" else MEASUREMENTS_A_NODE
            room -= used.get((node.name, kind), 0)
            if room > most and machine in (_ANY, node.machine):
                best, most = node, room
        return best

    def _start(self, task: _Task, node: Node) -> None:
        task.tries += 1
        try:
            future = self.engine.submit(node, task.func, task.args)
        except Exception as err:  # the engine's own errors: nothing of ours ran
            self._failed(task, err)
            return
        self._running[future] = _Running(task, node)
        future.add_done_callback(lambda done: self._events.put(lambda: self._ended(done)))

    def _ended(self, future: Future[Any]) -> None:
        running = self._running.pop(future, None)
        if running is None:  # dropped, or done again elsewhere
            return
        if future.cancelled():
            self._failed(running.task, LostError("the engine cancelled it"))
            return
        error = future.exception()
        if error is None:
            _settle(running.task.promise, future.result(), None)
        else:
            self._failed(running.task, error)

    def _failed(self, task: _Task, error: BaseException) -> None:
        if isinstance(error, LostError) or self.engine.is_lost(error):
            self._look()
            self._again(task)
        else:
            _settle(task.promise, None, error)

    def _again(self, task: _Task) -> None:
        if task.tries < MAX_TRIES:
            self._waiting[task.kind, task.machine].appendleft(task)
            return
        why = message(
            f"a {task.kind} on a cluster", found=f"its node went {task.tries} times",
            legal="a candidate that leaves its node alive",
        )  # fmt: skip
        _settle(task.promise, None, LostError(why))

    def _refuse(self) -> None:
        """End what has waited too long for a node that could do it."""
        machines = {node.machine for node in self._nodes.values()}
        alone = [
            task
            for (_, machine), tasks in self._waiting.items()
            if not machines or machine not in (_ANY, *machines)
            for task in tasks
        ]
        if not alone:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since < self._patience_s:
            return
        for task in alone:
            self._waiting[task.kind, task.machine].remove(task)
            why = message(
                f"a {task.kind} on a cluster for a machine {task.machine or 'of any kind'}",
                found=f"nodes of {', '.join(sorted(machines)) or 'no kind'}",
                legal="a node of that kind, or another target",
            )
            _settle(task.promise, None, NoNodeError(why))


def _settle(promise: Future[Any], result: Any, error: BaseException | None) -> None:
    if not promise.set_running_or_notify_cancel():
        return
    if error is None:
        promise.set_result(result)
    else:
        promise.set_exception(error)
