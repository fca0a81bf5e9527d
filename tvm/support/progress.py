"""How far long work is, on its way to whoever shows it; without listeners it costs a look.

    for number, kernel in enumerate(kernels):
        advance(f"schedule {kernel.name}", number, len(kernels))

Stages lie within each other, and each starts at its own zero.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]  # the stage, how far it is, of how much


class _Here(threading.local):
    listeners: tuple[Listener, ...] = ()


_here = _Here()


def advance(stage: str, done: int, of: int) -> None:
    """Tell all listeners of this thread how far a stage is."""
    for listener in _here.listeners:
        listener(stage, done, of)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within the scope, `listener` hears how far this thread's work is."""
    before = _here.listeners
    _here.listeners = (*before, listener)
    try:
        yield
    finally:
        _here.listeners = before


@contextmanager
def one_stage() -> Iterator[Listener]:
    """Within the scope, nobody hears of stages but those that are told to what it gives."""
    before = _here.listeners

    def tell(stage: str, done: int, of: int) -> None:
        for listener in before:
            listener(stage, done, of)

    _here.listeners = ()
    try:
        yield tell
    finally:
        _here.listeners = before
