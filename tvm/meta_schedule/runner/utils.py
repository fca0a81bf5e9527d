"""What runners here and elsewhere share: arguments with numbers in them, and measuring."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm.error import message
from tvm.runtime import Device, Module, empty

from .config import EvaluatorConfig

T_ARGUMENT: TypeAlias = Any
T_ARGUMENT_LIST: TypeAlias = list[T_ARGUMENT]
T_ARG_INFO_JSON_OBJ_LIST: TypeAlias = Sequence[Any]

FLUSH_BYTES = 64 << 20  # more than the caches of usual CPUs hold


def alloc_argument_common(
    f_random_fill: Callable[[Any], Any],
    device: Device,
    args_info: T_ARG_INFO_JSON_OBJ_LIST,
    alloc_repeat: int,
) -> list[T_ARGUMENT_LIST]:
    """`alloc_repeat` lists of arguments, filled with random numbers."""
    return [[_argument(f_random_fill, device, i) for i in args_info] for _ in range(alloc_repeat)]


def _argument(fill: Callable[[Any], Any], device: Device, info: Any) -> T_ARGUMENT:
    kind, *rest = info
    if kind != "TENSOR":
        raise ValueError(
            message(
                "an argument to measure with", found=repr(info), legal='["TENSOR", dtype, shape]'
            )
        )
    dtype, shape = rest
    made = empty(tuple(int(extent) for extent in shape), dtype=dtype, device=device)
    fill(made)
    return made


def run_evaluator_common(
    rt_mod: Module,
    device: Device,
    evaluator_config: EvaluatorConfig,
    repeated_args: Sequence[T_ARGUMENT_LIST],
) -> list[float]:
    """Seconds of the module's entry, for each list of arguments."""
    if evaluator_config.best_s is not None:
        entry = rt_mod.get_function(rt_mod.entry_name, query_imports=True)
        once = _far_slower(entry, device, evaluator_config, repeated_args[0])
        if once is not None:
            return [once]
    evaluator = rt_mod.time_evaluator(
        rt_mod.entry_name,
        device,
        number=evaluator_config.number,
        repeat=evaluator_config.repeat,
        min_repeat_ms=evaluator_config.min_repeat_ms,
        cache_flush_bytes=FLUSH_BYTES if evaluator_config.enable_cpu_cache_flush else 0,
    )
    costs: list[float] = []
    for args in repeated_args:
        device.sync()
        costs.extend(float(cost) for cost in evaluator(*args).results)
    return costs


_FAR = 2.0  # times as slow as the best, by a single run
_SLOWER = 1.3  # by `number` runs
_FIRST_CALL_S = 0.05  # more than pages, caches and threads that begin to work cost a first call


def _far_slower(
    entry: Callable[..., Any], device: Device, config: EvaluatorConfig, args: T_ARGUMENT_LIST
) -> float | None:
    """Seconds of a function that a few runs show to be slower than the best; None for others."""
    assert config.best_s is not None, "asked by who knows one"

    def runs(number: int) -> None:
        for _ in range(number):
            entry(*args)

    first = device.seconds(lambda: runs(1))
    if first > _FAR * config.best_s + _FIRST_CALL_S:
        return first
    for number, factor in ((1, _FAR), (config.number, _SLOWER)):
        seconds = device.seconds(functools.partial(runs, number)) / number
        if seconds > factor * config.best_s:
            return seconds
    return None
