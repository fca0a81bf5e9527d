"""Measuring: counts of calls, statistics, options."""

from __future__ import annotations

import pytest

import tvm
from tvm.ffi import register_global_func, remove_global_func
from tvm.runtime import BenchmarkResult
from tvm.runtime.benchmark import Timing, evaluator

pytestmark = pytest.mark.pure


def counted(timing: Timing) -> tuple[int, BenchmarkResult]:
    calls = []
    result = evaluator(lambda *args: calls.append(args), tvm.cpu(), timing)(1, 2)
    assert set(calls) == {(1, 2)}
    return len(calls), result


def test_statistics() -> None:
    result = BenchmarkResult([0.004, 0.001, 0.003, 0.002])
    assert (result.min, result.max) == (0.001, 0.004)
    assert result.mean == pytest.approx(0.0025)
    assert result.median == pytest.approx(0.0025)
    assert result.std == pytest.approx(0.001118, rel=1e-3)
    assert result.results == (0.004, 0.001, 0.003, 0.002)
    assert "mean (ms)" in str(result)
    assert "2.5000" in str(result)
    with pytest.raises(ValueError, match="at least one measurement"):
        BenchmarkResult([])


def test_a_repeat_is_a_number_of_calls_after_one_to_warm_up() -> None:
    calls, result = counted(Timing(number=5, repeat=3))
    assert calls == 1 + 15
    assert len(result.results) == 3


def test_the_number_grows_until_a_repeat_is_long_enough() -> None:
    calls, result = counted(Timing(number=1, repeat=1, min_repeat_ms=2))
    assert calls > 10
    assert result.mean < 0.002


def test_preparation_and_options() -> None:
    seen = []
    register_global_func("testing.prepare", lambda *a: seen.append(a), override=True)
    timing = Timing(number=1, repeat=4, cooldown_interval_ms=1, repeats_to_cooldown=2,
                    cache_flush_bytes=1000, f_preproc="testing.prepare")  # fmt: skip
    counted(timing)
    assert seen == [(1, 2)] * 4
    remove_global_func("testing.prepare")


def test_counts_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="number=0, repeat=1"):
        Timing(number=0)
