"""Measuring how long a function takes."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.error import message
from tvm.ffi import get_global_func

from ._device import Device


class BenchmarkResult:
    """Seconds a call, one number a repeat, with their statistics."""

    def __init__(self, results: Sequence[float]) -> None:
        if not results:
            raise ValueError("a benchmark result needs at least one measurement")
        self.results = tuple(float(r) for r in results)
        ordered = sorted(self.results)
        count = len(ordered)
        self.mean = math.fsum(ordered) / count
        self.median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
        self.min, self.max = ordered[0], ordered[-1]
        self.std = math.sqrt(math.fsum((r - self.mean) ** 2 for r in ordered) / count)

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, "
            f"max={self.max}, std={self.std}, results={self.results})"
        )

    def __str__(self) -> str:
        names = ("mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)")
        values = (self.mean, self.median, self.max, self.min, self.std)
        head = " ".join(f"{name:^12}" for name in names)
        row = " ".join(f"{value * 1000:^12.4f}" for value in values)
        return f"Execution time summary:\n{head}\n{row}"


class Timing:
    """How to measure; the fields are the options of `Module.time_evaluator`."""

    def __init__(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str | Callable[..., Any] = "",
    ) -> None:
        if number < 1 or repeat < 1:
            raise ValueError(
                message(
                    "time_evaluator", found=f"number={number}, repeat={repeat}", legal="1 or more"
                )
            )
        self.number = number
        self.repeat = repeat
        self.min_repeat_s = min_repeat_ms / 1000
        self.limit_zero_time_iterations = limit_zero_time_iterations
        self.cooldown_s = cooldown_interval_ms / 1000
        self.repeats_to_cooldown = max(repeats_to_cooldown, 1)
        self.cache_flush_bytes = cache_flush_bytes
        self.prepare = get_global_func(f_preproc) if isinstance(f_preproc, str) and f_preproc else (
            None if isinstance(f_preproc, str) else f_preproc
        )  # fmt: skip


def evaluator(
    func: Callable[..., Any], dev: Device, timing: Timing
) -> Callable[..., BenchmarkResult]:
    """A function that measures `func` on its arguments.

    One call warms up. A repeat is `number` calls; `number` grows until a repeat takes
    `min_repeat_ms`.
    """

    def evaluate(*args: Any) -> BenchmarkResult:
        func(*args)
        dev.sync()
        number = timing.number
        results = []
        for i in range(timing.repeat):
            if timing.prepare is not None:
                timing.prepare(*args)
            seconds, number = _one_repeat(func, args, dev, timing, number)
            results.append(seconds / number)
            if timing.cooldown_s and (i + 1) % timing.repeats_to_cooldown == 0:
                time.sleep(timing.cooldown_s)
        return BenchmarkResult(results)

    return evaluate


def _one_repeat(
    func: Callable[..., Any], args: tuple[Any, ...], dev: Device, timing: Timing, number: int
) -> tuple[float, int]:
    """Seconds of one repeat, and the calls it took."""
    empty_runs = 0
    while True:
        if timing.cache_flush_bytes:
            flush_cache(timing.cache_flush_bytes)
        seconds = dev.seconds(functools.partial(_repeated, func, args, number))
        if seconds >= timing.min_repeat_s:
            return seconds, number
        empty_runs += 1
        if seconds == 0 and empty_runs >= timing.limit_zero_time_iterations:
            return seconds, number
        wanted = timing.min_repeat_s / max(seconds / number, 1e-9) + 1
        number = int(max(wanted, number * 1.618))


def _repeated(func: Callable[..., Any], args: tuple[Any, ...], number: int) -> None:
    for _ in range(number):
        func(*args)


CACHE_BYTES: Final = 64 << 20  # more than the caches of most CPUs hold
_flusher: Any = None


def flush_cache(size_bytes: int) -> None:
    """Read and write so much memory that nothing of the arguments stays in a cache."""
    global _flusher
    import numpy as np

    if _flusher is None or _flusher.size < size_bytes:
        _flusher = np.zeros(size_bytes, np.int8)
    _flusher += 1
