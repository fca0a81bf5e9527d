"""Where the time of a search goes.

    with Profiler() as profiler:
        with Profiler.timeit("Build"): ...
    print(profiler.table())
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import Self

from tvm.error import message

from .base import Component
from .table import format_table

_TOTAL = "Total"


class _Entered(threading.local):
    def __init__(self) -> None:
        self.stack: list[Profiler] = []


_ENTERED = _Entered()


class Profiler(Component):
    """Sums up the seconds of named scopes while it is entered."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._began = 0.0

    def get(self) -> dict[str, float]:
        """Seconds by name; `Total` is there once the profiler was left."""
        return dict(self._seconds)

    def table(self) -> str:
        """The times in minutes and in percent of the total, longest first."""
        if _TOTAL not in self._seconds:
            raise ValueError(
                message(
                    "Profiler.table",
                    found="no total time yet",
                    legal="call it after the `with` block of the profiler",
                )
            )
        total = max(self._seconds[_TOTAL], 1e-12)
        ordered = sorted(self._seconds.items(), key=lambda item: (item[0] != _TOTAL, -item[1]))
        rows = [
            ("" if i == 0 else i, name, seconds / 60, seconds / total * 100)
            for i, (name, seconds) in enumerate(ordered)
        ]
        return format_table(("ID", "Name", "Time (min)", "Percentage"), rows)

    def __enter__(self) -> Self:
        _ENTERED.stack.append(self)
        self._began = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        assert _ENTERED.stack[-1] is self, "profilers are left in the order they were entered"
        _ENTERED.stack.pop()
        self._add(_TOTAL, time.perf_counter() - self._began)

    def _add(self, name: str, seconds: float) -> None:
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    @staticmethod
    def current() -> Profiler | None:
        """The profiler that was entered last, if any."""
        return _ENTERED.stack[-1] if _ENTERED.stack else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Iterator[None]:
        """Count the time of a `with` block under a name, if a profiler is entered."""
        profiler, began = Profiler.current(), time.perf_counter()
        try:
            yield
        finally:
            if profiler is not None:
                profiler._add(name, time.perf_counter() - began)
