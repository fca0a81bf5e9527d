"""Objects of a module's parts, made on all cores: long-lived processes compile beside this one.

The parts do not depend on who compiles them, so the objects are the same for any number of
processes. `TVM_COMPILE_WORKERS` says how many there may be beside this one (by default one for each
further core, seven at most); 0 leaves all work here, but for what LLVM must not do here. A process
that dies costs time only: its part is compiled here. Nobody waits for the rest after Ctrl-C:
processes that are at work are killed.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Final

from . import cache, jit, worker
from .split import parts_of

_MAX_PROCESSES: Final = 7
_MIN_TEXT: Final = 150_000  # characters of text; less is compiled before a process has started


def emit_objects(text: str, machine: jit.Machine) -> list[bytes]:
    """The objects of the parts of a module, in the order of `parts_of`."""
    texts = parts_of(text)
    if len(texts) == 1:
        return [jit.emit_object(text, machine)]
    keys = [jit.object_key(part, machine) for part in texts]
    found = [cache.load(key) for key in keys]
    missing = [i for i, content in enumerate(found) if content is None]
    for i, content in zip(missing, _compiled([texts[i] for i in missing], machine)):
        found[i] = content
        cache.store(keys[i], content)
    return [content for content in found if content is not None]


def begin() -> None:
    """Start the processes, for who knows that there will be work; they load while work is made."""
    worker.begin(worker_count())


def worker_count() -> int:
    """How many processes may compile beside this one."""
    asked = os.environ.get("TVM_COMPILE_WORKERS", "")
    if asked.isdecimal():
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores - 1, _MAX_PROCESSES)


def _compiled(texts: list[str], machine: jit.Machine) -> list[bytes]:
    # those that LLVM may not compile here first, then the longest: processes take from this end,
    # and this one takes from the other
    apart = {i for i, text in enumerate(texts) if jit.needs_other_process(text, machine)}
    order = sorted(range(len(texts)), key=lambda i: (i not in apart, -len(texts[i])))
    work = _Work(texts, machine, deque(order))
    try:
        _work_on(work)
    except BaseException:
        work.abandon()
        raise
    for i in order:
        if i not in work.found:  # a process could not: here it works, or says why not
            work.found[i] = jit.emit_fresh(texts[i], machine)
    return [work.found[i] for i in range(len(texts))]


def _work_on(work: _Work) -> None:
    """Compile the parts here and in processes."""
    texts, machine = work.texts, work.machine
    if len(work.waiting) > 1 and sum(map(len, texts)) >= _MIN_TEXT and worker_count():
        begin()
        for helper in worker.take_idle(min(worker_count(), len(work.waiting) - 1)):
            threading.Thread(target=work.share, args=(helper,), daemon=True).start()
    while (own := work.take(-1)) is not None:
        work.found[own] = jit.emit_fresh(texts[own], machine)
    work.finish()


class _Work:
    """Parts that several take from; `found` are the objects by the number of their part."""

    def __init__(self, texts: list[str], machine: jit.Machine, waiting: deque[int]) -> None:
        self.waiting = waiting
        self.found: dict[int, bytes] = {}
        self.texts = texts
        self.machine = machine
        self._away: set[worker.Worker] = set()  # the processes that are at a part
        self._change = threading.Condition()

    def take(self, end: int) -> int | None:
        """The number of a part that nobody has taken: the first (0) or the last (-1) waiting."""
        try:
            return self.waiting.popleft() if end == 0 else self.waiting.pop()
        except IndexError:
            return None

    def finish(self) -> None:
        """Wait for the parts that were given out; not for processes that load."""
        with self._change:
            self._change.wait_for(lambda: not self._away)

    def abandon(self) -> None:
        """Give no more parts out, and let nobody work for nothing."""
        with self._change:
            self.waiting.clear()
            for helper in self._away:
                helper.kill()

    def share(self, helper: worker.Worker) -> None:
        """Let a process take parts until none is left."""
        content: bytes | None = b""
        while content is not None and helper.is_ready():
            with self._change:
                number = self.take(0)
                if number is None:
                    break
                self._away.add(helper)
            content = helper.compile(self.texts[number], self.machine)
            with self._change:
                if content is not None:
                    self.found[number] = content
                self._away.discard(helper)
                self._change.notify_all()
        worker.give_back(helper)
