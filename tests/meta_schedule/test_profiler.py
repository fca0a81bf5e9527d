"""Sums of times."""

from __future__ import annotations

import pytest

from tvm.meta_schedule import Profiler, profiler

pytestmark = pytest.mark.pure


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still but for what a test adds."""
    now = [0.0]
    monkeypatch.setattr(profiler.time, "perf_counter", lambda: now[0])
    return now


def test_scopes(clock: list[float]) -> None:
    with Profiler() as profile:
        assert Profiler.current() is profile
        clock[0] += 1
        with Profiler.timeit("Level0"):
            clock[0] += 1
            with Profiler.timeit("Level1"):
                clock[0] += 2
        with Profiler.timeit("Level1"):
            clock[0] += 4
    assert Profiler.current() is None
    assert profile.get() == {"Level0": 3, "Level1": 6, "Total": 8}
    assert profile.table() == (
        " ID |   Name | Time (min) | Percentage \n"
        "---------------------------------------\n"
        "    |  Total |     0.1333 |   100.0000 \n"
        "  1 | Level1 |     0.1000 |    75.0000 \n"
        "  2 | Level0 |     0.0500 |    37.5000 \n"
        "---------------------------------------\n"
    )


def test_innermost_profiler_counts(clock: list[float]) -> None:
    with Profiler() as outer, Profiler() as inner, Profiler.timeit("Work"):
        clock[0] += 1
    assert "Work" in inner.get()
    assert "Work" not in outer.get()


def test_without_profiler() -> None:
    with Profiler.timeit("Level0"):
        pass
    assert Profiler.current() is None


def test_table_before_the_end() -> None:
    with Profiler() as profile, pytest.raises(ValueError, match=r"no total time yet"):
        profile.table()
