"""Objects of a module's parts, made on all cores: long-lived processes compile beside this one.

The parts do not depend on who compiles them, so the objects are the same for any number of
processes. `TVM_COMPILE_WORKERS` says how many there may be beside this one (by default one for each
further core, seven at most); 0 leaves all work here. A process that dies costs time only: its part
is compiled here. Nobody waits for the rest after Ctrl-C: processes that are at work are killed.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any, Final

from . import cache, jit
from .split import parts_of

_MAX_PROCESSES: Final = 7
_MIN_TEXT: Final = 150_000  # characters of text; less is compiled before a process has started
_HOME: Final = Path(__file__).parents[3]
_lock = threading.Lock()
_idle: list[_Worker] = []
_begun: list[_Worker] = []


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
    with _lock:
        _idle[:] = [worker for worker in _idle if worker.is_alive()]
        while len(_begun) < worker_count():
            _idle.append(_Worker())


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
    # the longest first: the last one to be done is then a short one
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    unusual = [i for i in order if jit.needs_own_process(texts[i], machine)]
    work = _Work(texts, machine, deque(i for i in order if i not in unusual))
    try:
        _work_on(work, unusual)
    except BaseException:
        work.abandon()
        raise
    for i in order:
        if i not in work.found:  # a process could not: here it works, or says why not
            work.found[i] = jit.emit_fresh(texts[i], machine)
    return [work.found[i] for i in range(len(texts))]


def _work_on(work: _Work, unusual: list[int]) -> None:
    """Compile the parts here and in processes; `unusual` ones need a process of their own."""
    texts, machine = work.texts, work.machine
    if len(work.waiting) > 1 and sum(map(len, texts)) >= _MIN_TEXT and worker_count():
        begin()
        with _lock:
            count = min(len(_idle), len(work.waiting) - 1)
            taken, _idle[:] = _idle[:count], _idle[count:]
        for worker in taken:
            threading.Thread(target=work.share, args=(worker,), daemon=True).start()
    for i in unusual:
        work.found[i] = jit.emit_fresh(texts[i], machine)
    while (own := work.take()) is not None:
        work.found[own] = jit.emit_fresh(texts[own], machine)
    work.finish()


class _Work:
    """Parts that several take from; `found` are the objects by the number of their part."""

    def __init__(self, texts: list[str], machine: jit.Machine, waiting: deque[int]) -> None:
        self.waiting = waiting
        self.found: dict[int, bytes] = {}
        self.texts = texts
        self.machine = machine
        self._away: set[_Worker] = set()  # the processes that are at a part
        self._change = threading.Condition()

    def take(self) -> int | None:
        """The number of a part that nobody has taken."""
        with contextlib.suppress(IndexError):
            return self.waiting.popleft()
        return None

    def finish(self) -> None:
        """Wait for the parts that were given out; not for processes that load."""
        with self._change:
            self._change.wait_for(lambda: not self._away)

    def abandon(self) -> None:
        """Give no more parts out, and let nobody work for nothing."""
        with self._change:
            self.waiting.clear()
            for worker in self._away:
                worker.kill()

    def share(self, worker: _Worker) -> None:
        """Let a process take parts until none is left."""
        content: bytes | None = b""
        while content is not None and worker.is_ready():
            with self._change:
                number = self.take()
                if number is None:
                    break
                self._away.add(worker)
            content = worker.compile(self.texts[number], self.machine)
            with self._change:
                if content is not None:
                    self.found[number] = content
                self._away.discard(worker)
                self._change.notify_all()
        if worker.is_alive():
            with _lock:
                _idle.append(worker)


class _Worker:
    """A process that compiles parts; see `compile_worker`."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, [str(_HOME), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-m", "tvm.backend.llvm.compile_worker", "serve"]
        self._owner = os.getpid()
        self._ready = False
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )  # fmt: skip
        _begun.append(self)

    def is_alive(self) -> bool:
        """False once the process has ended, or where it belongs to the parent of this one."""
        process = self._process
        if process is not None and self._owner == os.getpid():
            if process.poll() is None:
                return True
            self.end()
        return False

    def is_ready(self) -> bool:
        """Wait until the process has loaded; False where it will not."""
        if not self._ready:
            self._ready = self.is_alive() and self._answer() is not None
        return self._ready and self.is_alive()

    def compile(self, text: str, machine: jit.Machine) -> bytes | None:
        """The object of a text; None where the process could not make it."""
        process = self._process
        if process is None or process.stdin is None:
            return None
        content = text.encode()
        fields = [machine.triple, machine.cpu, machine.features, machine.opt_level,
                  machine.float_abi]  # fmt: skip
        head = json.dumps([len(content), *fields]).encode()
        try:
            process.stdin.write(head + b"\n" + content)
            process.stdin.flush()
        except (OSError, ValueError):  # it has ended, or was ended here
            self.end()
            return None
        return self._answer()

    def _answer(self) -> bytes | None:
        """What the process says: a length, -1 where it could not, and so many bytes."""
        process = self._process
        if process is None or process.stdout is None:
            return None
        try:
            line: Any = process.stdout.readline()
            size = int(line) if line.strip().isdigit() else -1
            content = process.stdout.read(max(size, 0))
        except (OSError, ValueError):
            line, size, content = b"", -1, b""
        if len(content) == size:
            return content
        if size >= 0 or not line:  # it has ended
            self.end()
        return None

    def kill(self) -> None:
        """End the process; the thread that waits for its answer hears that."""
        with contextlib.suppress(ValueError):
            _begun.remove(self)
        process = self._process
        if process is not None and self._owner == os.getpid():
            with contextlib.suppress(OSError):
                process.kill()

    def end(self) -> None:
        """Let the process go."""
        self.kill()
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.wait()
        # last: another thread may be at a stream, and stays there as long as the process lives
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _forget() -> None:
    """A child process has none of its parent's."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()
    _begun.clear()


@atexit.register
def _end_all() -> None:
    for worker in list(_begun):
        worker.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
