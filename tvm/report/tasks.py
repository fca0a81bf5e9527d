"""Which thread ran which task of a parallel loop, and when.

    with TaskWatch() as watch:
        vm["main"](x)
    watch.tasks()                    # Task(thread=0, number=0, start_ns=..., end_ns=...), ...

A few lines of compiled code stand between launches and the pool while somebody watches; at other
times nothing of it is there.
"""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType
from typing import Final, NamedTuple

import numpy as np
from typing_extensions import Self

from tvm.backend.llvm import jit
from tvm.backend.llvm.host import host_functions
from tvm.runtime.pool_sharing import watched_launches

_ROOM: Final = 1 << 16  # tasks that are kept; later ones are counted
_TEXT: Final = """
@watch.launch = global ptr null, align 8
@watch.log = global ptr null, align 8
@watch.room = global i64 0, align 8
@watch.next = global i64 0, align 8
declare i64 @tvm_rt_clock_ns()
declare i64 @pthread_self()

; In place of a launch: the same tasks, each within one that looks at the clock.
define i32 @watch.hook(ptr %func, ptr %closure, i32 %wanted) nounwind {
  %pair = alloca { ptr, ptr }, align 8
  store ptr %func, ptr %pair, align 8
  %second = getelementptr inbounds i8, ptr %pair, i64 8
  store ptr %closure, ptr %second, align 8
  %launch = load ptr, ptr @watch.launch, align 8
  %rc = call i32 %launch(ptr @watch.task, ptr %pair, i32 %wanted)
  ret i32 %rc
}

define internal i32 @watch.task(i32 %id, ptr %env, ptr %pair) nounwind {
entry:
  %func = load ptr, ptr %pair, align 8
  %second = getelementptr inbounds i8, ptr %pair, i64 8
  %closure = load ptr, ptr %second, align 8
  %start = call i64 @tvm_rt_clock_ns()
  %rc = call i32 %func(i32 %id, ptr %env, ptr %closure)
  %end = call i64 @tvm_rt_clock_ns()
  %slot = atomicrmw add ptr @watch.next, i64 1 monotonic
  %room = load i64, ptr @watch.room, align 8
  %fits = icmp ult i64 %slot, %room
  br i1 %fits, label %keep, label %done
keep:
  %log = load ptr, ptr @watch.log, align 8
  %row = getelementptr inbounds { i64, i64, i64, i64 }, ptr %log, i64 %slot
  %self = call i64 @pthread_self()
  %id64 = zext i32 %id to i64
  store i64 %start, ptr %row, align 8
  %p.end = getelementptr inbounds i8, ptr %row, i64 8
  store i64 %end, ptr %p.end, align 8
  %p.self = getelementptr inbounds i8, ptr %row, i64 16
  store i64 %self, ptr %p.self, align 8
  %p.id = getelementptr inbounds i8, ptr %row, i64 24
  store i64 %id64, ptr %p.id, align 8
  br label %done
done:
  ret i32 %rc
}
"""
_VARIABLES: Final = ("watch.launch", "watch.log", "watch.room", "watch.next")


class Task(NamedTuple):
    """A task: its thread (0 is the one that watches), and the nanoseconds of its ends."""

    thread: int
    number: int
    start_ns: int
    end_ns: int


class TaskWatch:
    """Keeps what the threads of the pool do while its context is entered."""

    def __init__(self, room: int = _ROOM) -> None:
        self._log = np.zeros((room, 4), np.int64)
        self._count = 0
        self._own = 0

    def __enter__(self) -> Self:
        hook, launch, log, room, count = _watcher()
        self._own = threading.get_ident()
        self._next = ctypes.c_int64.from_address(count)

        def begin(past: int) -> int:
            ctypes.c_void_p.from_address(launch).value = past
            ctypes.c_void_p.from_address(log).value = self._log.ctypes.data
            ctypes.c_int64.from_address(room).value = len(self._log)
            self._next.value = 0
            return hook

        self._watched = watched_launches(begin)
        self._watched.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._count = self._next.value
        self._watched.__exit__(kind, error, trace)

    @property
    def lost(self) -> int:
        """How many tasks there was no room for."""
        return max(0, self._count - len(self._log))

    def tasks(self) -> list[Task]:
        """All tasks that ended while it watched, by their starts."""
        rows = self._log[: min(self._count, len(self._log))]
        threads: dict[int, int] = {self._own: 0}
        found = sorted(rows.tolist())
        return [
            Task(threads.setdefault(own & _WORD, len(threads)), number, start, end)
            for start, end, own, number in found
        ]


_WORD: Final = (1 << 64) - 1
_lock = threading.Lock()
_linked: jit.Linked | None = None


def _watcher() -> tuple[int, ...]:
    """The addresses of the hook and of what it reads, linked at first need."""
    global _linked
    with _lock:
        if _linked is None:
            clock = "tvm_rt_clock_ns"
            imports = {clock: host_functions()[clock]}
            found = jit.process_symbol("pthread_self")
            if found is not None:
                imports["pthread_self"] = found
            made = jit.emit_object(_TEXT, jit.host_machine())
            _linked = jit.link(made, ["watch.hook", *_VARIABLES], imports)
            _linked.keep_forever()  # threads may be on their way out of it
    return tuple(_linked.address(name) for name in ("watch.hook", *_VARIABLES))
