"""Work for all cores: long-lived processes compile the parts of a module beside this one.

What comes of a piece does not depend on who does it, so objects are the same for any number of
processes. `TVM_COMPILE_WORKERS` says how many there may be beside this one (by default one for each
further core, seven at most); 0 leaves all work here, but for what LLVM must not do here. A process
that dies costs time only: its part is compiled here. Nobody waits for the rest after Ctrl-C:
processes that are at work are killed.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from tvm.support.progress import advance

from . import cache, jit, worker
from .split import parts_of

_MAX_PROCESSES: Final = 7
_PATIENCE: Final = 3  # pieces that a process could not do, before it gets no more
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


def begin(*modules: str) -> None:
    """Start the processes, for who knows that there will be work; they load while work is made."""
    worker.begin(worker_count(), *modules)


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
    def here(number: int) -> bytes:
        return jit.emit_fresh(texts[number], machine)

    def there(helper: worker.Worker, number: int) -> bytes | None:
        return helper.compile(texts[number], machine)

    enough = sum(map(len, texts)) >= _MIN_TEXT
    found = shared_out(order, here, there, worker_count() if enough else 0)
    for i in order:
        if i not in found:  # a process could not: here it works, or says why not
            found[i] = here(i)
    return [found[i] for i in range(len(texts))]


def shared_out(
    order: Sequence[int],
    here: Callable[[int], bytes | None],
    there: Callable[[worker.Worker, int], bytes | None],
    count: int,
    *modules: str,
    what: str = "machine code",
) -> dict[int, bytes]:
    """What came of pieces of work, by their numbers: done here from the end of `order` on.

    Up to `count` processes, which ask `modules`, take pieces from its begin. Pieces of which None
    comes are left out.
    """
    work = _Work(deque(order), there)
    try:
        if len(order) > 1 and count:
            worker.begin(count, *modules)
            for helper in worker.take_idle(min(count, len(order) - 1)):
                threading.Thread(target=work.share, args=(helper,), daemon=True).start()
        while (own := work.take(-1)) is not None:
            advance(what, len(order) - 1 - len(work.waiting), len(order))
            content = here(own)
            if content is not None:
                work.found[own] = content
        work.finish()
    except BaseException:
        work.abandon()
        raise
    return work.found


class _Work:
    """Pieces that several take from; `found` is what came of them, by their numbers."""

    def __init__(
        self, waiting: deque[int], there: Callable[[worker.Worker, int], bytes | None]
    ) -> None:
        self.waiting = waiting
        self.found: dict[int, bytes] = {}
        self._there = there
        self._away: set[worker.Worker] = set()  # the processes that are at a piece
        self._change = threading.Condition()

    def take(self, end: int) -> int | None:
        """A piece that nobody has taken: the first (0) or the last (-1) waiting."""
        try:
            return self.waiting.popleft() if end == 0 else self.waiting.pop()
        except IndexError:
            return None

    def finish(self) -> None:
        """Wait for the pieces that were given out; not for processes that load."""
        with self._change:
            self._change.wait_for(lambda: not self._away)

    def abandon(self) -> None:
        """Give no more pieces out, and let nobody work for nothing."""
        with self._change:
            self.waiting.clear()
            for helper in self._away:
                helper.kill()

    def share(self, helper: worker.Worker) -> None:
        """Let a process take pieces until none is left; what it could not do may be done here."""
        refused = 0  # one after the other
        while refused < _PATIENCE and helper.is_ready():
            with self._change:
                number = self.take(0)
                if number is None:
                    break
                self._away.add(helper)
            content = self._there(helper, number)
            refused = refused + 1 if content is None else 0
            with self._change:
                if content is not None:
                    self.found[number] = content
                self._away.discard(helper)
                self._change.notify_all()
        worker.give_back(helper)
