"""A long-lived process that lowers kernels and turns LLVM text into objects: for code over which
LLVM could end a process, for what Ctrl-C has to stop, and for work beside that of this process.

Starting one takes 0.15 s, more than most texts; so an idle one is used again. It ends by itself
when nobody has asked it for a minute, and with the process that it belongs to.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tvm.support.apart import hearing_signals

if TYPE_CHECKING:
    from .jit import Machine

_HOME: Final = Path(__file__).parents[3]
_lock = threading.Lock()
_idle: list[Worker] = []
_begun: list[Worker] = []


def begin(count: int, *modules: str) -> None:
    """See that there are so many processes; they load while work is made for them.

    New ones load `modules` as well before they are ready, which they are going to be asked.
    """
    with _lock:
        _idle[:] = [worker for worker in _idle if worker.is_alive()]
        while len(_begun) < count:
            _idle.append(Worker(*modules))


def take_idle(count: int) -> list[Worker]:
    """Up to so many processes that have nothing to do."""
    with _lock:
        _idle[:] = [worker for worker in _idle if worker.is_alive()]
        taken, _idle[:] = _idle[:count], _idle[count:]
    return taken


def give_back(worker: Worker) -> None:
    """A process has nothing to do any more."""
    if worker.is_alive():
        with _lock:
            _idle.append(worker)


def emit_apart(text: str, machine: Machine) -> bytes | None:
    """The object of a text, by a process that Ctrl-C ends; None where that could not make it."""
    worker = next(iter(take_idle(1)), None) or Worker()
    try:
        return hearing_signals(
            lambda: worker.compile(text, machine) if worker.is_ready() else None
        )
    except BaseException:
        worker.kill()  # nobody waits for it
        raise
    finally:
        give_back(worker)


class Worker:
    """A process that answers one question after the other; see `compile_worker`."""

    def __init__(self, *modules: str) -> None:
        path = os.pathsep.join(filter(None, [str(_HOME), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-m", "tvm.backend.llvm.compile_worker", "serve", *modules]
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

    def compile(self, text: str, machine: Machine) -> bytes | None:
        """The object of a text; None where the process could not make it."""
        fields = [machine.triple, machine.cpu, machine.features, machine.opt_level,
                  machine.float_abi]  # fmt: skip
        return self.ask("tvm.backend.llvm.compile_worker", fields, text.encode())

    def ask(self, module: str, fields: Sequence[object], content: bytes) -> bytes | None:
        """What `answer(content, *fields)` of a module gives there; None where it could not."""
        process = self._process
        if process is None or process.stdin is None:
            return None
        head = json.dumps([len(content), module, *fields]).encode()
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
