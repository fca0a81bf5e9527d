"""Work in C that would be deaf to Ctrl-C, done in a thread beside the main one.

Python hears signals in its main thread, between its own instructions: not while LLVM works. So the
main thread waits for another one, and a wait is interruptible. A thread whose time is limited waits
as well, and leaves when its time is over. Work that nobody waits for any more goes on to its end,
which no later work sees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from .checkpoint import SECONDS, current_limit

Result = TypeVar("Result")


class _Task(Generic[Result]):
    """A call and what came of it."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._ended = threading.Event()
        self._results: list[Result] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as err:  # it is raised where the result is wanted
            self._error = err
        finally:
            self._ended.set()

    def result(self) -> Result:
        limit = current_limit()
        # A signal that comes just before the wait begins does not end it: Python notes it, and acts
        # on it when the wait is over.
        while not self._ended.wait(SECONDS):
            if limit is not None:
                limit.check("what waits for LLVM")
        if self._error is not None:
            raise self._error
        return self._results[0]


def hearing_signals(call: Callable[[], Result]) -> Result:
    """The result of `call()`, for which the main thread waits with open ears.

    So does a thread with a time limit.
    """
    if current_limit() is None and threading.current_thread() is not threading.main_thread():
        return call()
    task = _Task(call)
    threading.Thread(target=task.run, name="tvm-compile").start()
    return task.result()
