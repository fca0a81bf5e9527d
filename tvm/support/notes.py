"""Facts on their way to whoever watches this thread; they cost a look at an empty tuple otherwise.

    if watched():
        note(Scheduled(func, schedule))

A fact is an object of a class that its teller declares. Watchers pick the classes that they know.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watcher = Callable[[object], None]


class _Here(threading.local):
    watchers: tuple[Watcher, ...] = ()


_here = _Here()


def watched() -> bool:
    """Whether somebody in this thread wants facts: making one may cost something."""
    return bool(_here.watchers)


def note(fact: object) -> None:
    """Hand a fact to all watchers of this thread."""
    for watcher in _here.watchers:
        watcher(fact)


def watch(watcher: Watcher) -> None:
    """Let `watcher` see the facts of this thread until `unwatch`."""
    _here.watchers = (*_here.watchers, watcher)


def unwatch(watcher: Watcher) -> None:
    """Let `watcher` see no more; one that does not watch is passed over."""
    _here.watchers = tuple(w for w in _here.watchers if w != watcher)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Within the scope, `watcher` sees the facts of this thread."""
    watch(watcher)
    try:
        yield
    finally:
        unwatch(watcher)
