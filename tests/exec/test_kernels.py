from __future__ import annotations

import pytest

from tvm.exec.kernels import KernelTime, kernel_times, show_kernels
from tvm.runtime.profiling import Duration, Report

pytestmark = pytest.mark.pure


class Machine:
    """Stands for a virtual machine: the given profiles, one after the other, over and over."""

    def __init__(self, *profiles: list[tuple[str, float, str]]) -> None:
        self._profiles = profiles
        self._next = 0

    def profile(self, name: str, *args: object) -> Report:
        rows = self._profiles[self._next % len(self._profiles)]
        self._next += 1
        calls = [{"Name": n, "Duration (us)": Duration(t), "Sources": s} for n, t, s in rows]
        return Report(calls, {}, {})


def test_medians_of_calls_are_added_by_kernel() -> None:
    conv, pool = ("conv", "stem/conv, stem/bn"), ("pool", "pool")
    machine = Machine(
        [(conv[0], 1.0, conv[1]), (pool[0], 5.0, pool[1]), (conv[0], 2.0, conv[1])],
        [(conv[0], 3.0, conv[1]), (pool[0], 7.0, pool[1]), (conv[0], 4.0, conv[1])],
    )
    first, second = kernel_times(machine, [])
    assert (first.name, first.calls, first.sources) == ("conv", 2, ("stem/conv", "stem/bn"))
    assert first.seconds == pytest.approx(5e-6)
    assert second.seconds == pytest.approx(6e-6)


def test_table_has_the_slowest_first() -> None:
    kernels = [KernelTime("a", 1, 1e-6, ("x",)), KernelTime("b", 2, 3e-6, ("y", "z"))]
    rows = [line.split() for line in show_kernels(kernels).splitlines()]
    assert rows[0] == ["kernel", "calls", "us", "share", "from"]
    assert rows[2] == ["b", "2", "3.0", "75%", "y,", "z"]
    assert rows[3] == ["a", "1", "1.0", "25%", "x"]
