"""Fewer searches for unreachable cycles while a compiler makes objects that it keeps."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Python looks at all new objects every 700 of them. Programs are trees, freed when nobody holds
# them; while one is compiled the search finds next to nothing and takes a tenth of the time.
_NEW_OBJECTS: Final = 50_000
_ROUNDS: Final = 50  # of looking at new objects before older ones are looked at

_lock = threading.Lock()
_inside = 0
_before = (0, 0, 0)


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Within the block (or the decorated function) the collector of cycles runs rarely.

    Blocks may nest and run in several threads; the user's settings come back after the last. A
    collector that the user has switched off stays so.
    """
    global _inside, _before
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = gc.get_threshold()
            if _before[0]:
                gc.set_threshold(
                    max(_before[0], _NEW_OBJECTS), max(_before[1], _ROUNDS), _before[2]
                )
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                gc.set_threshold(*_before)
