"""Room for recursion over deeply nested programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Python's own limit of 1,000 frames is meant to stop endless recursion; a nest of a thousand
# statements, such as the names of a function's many parameters, is a legal program. Before 3.11
# each frame takes some of the 8 MB that a thread's stack has; since then they live on the heap.
NESTED_FRAMES: Final = 200_000 if sys.version_info >= (3, 11) else 12_000


@contextmanager
def nested_programs() -> Iterator[None]:
    """Within the block, walks may recurse over nests of a few thousand statements."""
    before = sys.getrecursionlimit()
    if before < NESTED_FRAMES:
        sys.setrecursionlimit(NESTED_FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
