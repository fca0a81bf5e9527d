"""Check that the schedules of a database compute what their workloads do.

    python -m tvm.meta_schedule.testing.validate_database --work-dir FOLDER --target "llvm"

For the fastest schedules of each workload, built programs run on the same random inputs as the
workload without any schedule.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm.error import TVMError, message
from tvm.ffi import get_global_func, register_global_func
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.meta_schedule.arg_info import ArgInfo, TensorInfo
from tvm.meta_schedule.database import JSONDatabase, TuningRecord
from tvm.meta_schedule.runner import EvaluatorConfig
from tvm.runtime import Device, Tensor, cpu, cuda, tensor
from tvm.target import Target
from tvm.tir.build import build

from .tune_utils import generate_input_data

_FAILED_SECS = 1e9  # what is as slow as this stands for an error
_DEVICES: dict[str, tuple[str, Callable[[int], Device]]] = {
    "llvm": ("cpu", cpu),
    "cuda": ("cuda", cuda),
}


def _device_of(target: Target) -> tuple[str, Callable[[int], Device]]:
    found = _DEVICES.get(target.kind.name)
    if found is None:
        raise RuntimeError(
            message(
                "validate_database: unsupported target kind for device type",
                found=target.kind.name,
                legal=", ".join(_DEVICES),
            )
        )
    return found


def get_device_type(target: Target) -> str:
    """The name of the kind of device that a target's programs run on."""
    return _device_of(target)[0]


def get_runtime_device(target: Target) -> Device:
    """The first device that a target's programs run on."""
    return _device_of(target)[1](0)


def check_and_run(func: str | Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function returns, which may be given by its registered name."""
    called: Callable[..., Any] = get_global_func(func) if isinstance(func, str) else func
    return called(*args, **kwargs)


class OriginalModule:
    """A module in the shape in which records are checked: what they are compared with."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OriginalModule) and structural_equal(self.mod, other.mod)

    def __hash__(self) -> int:
        return structural_hash(self.mod)


def initializer() -> None:
    """Register how inputs are made and results compared, in a process that checks records.

    `check_and_run` finds them as `tvm.meta_schedule.testing.default_input_generator` and
    `tvm.meta_schedule.testing.default_check_metric`.
    """
    for name, func in (
        ("default_input_generator", default_input_generator),
        ("default_check_metric", _all_close),
    ):
        register_global_func(f"tvm.meta_schedule.testing.{name}", func, override=True)


def _all_close(lhs: Sequence[Tensor], rhs: Sequence[Tensor]) -> bool:
    """Whether two lists of tensors hold the same numbers, up to rounding."""
    return len(lhs) == len(rhs) and not _difference(to_numpy(lhs), to_numpy(rhs))


def default_input_generator(mod: IRModule) -> list[Tensor]:
    """Random tensors for all that a module's function takes."""
    infos = ArgInfo.from_entry_func(mod, remove_preproc=False)
    assert all(isinstance(info, TensorInfo) for info in infos), "kernels take tensors"
    return [
        tensor(generate_input_data([int(d) for d in info.shape], info.dtype))
        for info in infos
        if isinstance(info, TensorInfo)
    ]


def to_numpy(a: Sequence[Tensor]) -> list[NDArray[Any]]:
    """Copies as arrays."""
    return [value.numpy() for value in a]


def to_tvm_tensor(a: Sequence[NDArray[Any]]) -> list[Tensor]:
    """Copies as tensors."""
    return [tensor(value) for value in a]


def is_failed_record(record: TuningRecord) -> bool:
    """Whether the record stands for an error."""
    secs = record.run_secs
    return secs is not None and len(secs) == 1 and float(secs[0]) >= _FAILED_SECS


def print_with_counter_func(counter: int, total: int) -> Callable[[str], None]:
    """A function that prints a line with how far the check is."""

    def print_result(result: str) -> None:
        print(f"Progress {counter: 6d} / {total: 6d} checked, result: {result}")

    return print_result


def local_build_and_run(
    mod: IRModule, target: Target, device: Device, inputs: Sequence[NDArray[Any]]
) -> tuple[list[NDArray[Any]], list[float]]:
    """All arguments after a run of the built module, and the seconds it took."""
    built = build(mod, target=target)
    args = [tensor(value, device) for value in inputs]
    built(*args)
    found = to_numpy(args)
    took = built.time_evaluator(built.entry_name, device, number=1)(*args)
    return found, [float(secs) for secs in took.results]


def make_alloc_arg_and_check(
    inputs: Sequence[NDArray[Any]],
    original_mod: IRModule,
    scheduled_mod: IRModule,
    trace: str,
    original_res: Sequence[NDArray[Any]],
    original_run_secs: Sequence[float],
    print_result: Callable[[str], None],
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two functions with which an RPC runner runs a schedule on inputs and checks it.

    The first, for `RPCRunner(f_alloc_argument=...)`, puts the inputs on the device. The second,
    for `f_run_evaluator`, runs the program, times it, and says by `print_result` whether all
    arguments are then as in `original_res`; where not, with both programs and the trace.
    """

    def f_with_args_alloc_argument(
        session: Any, device: Device, args_info: Any, alloc_repeat: int
    ) -> list[list[Tensor]]:
        return [[tensor(value, device) for value in inputs] for _ in range(alloc_repeat)]

    def f_with_args_run_evaluator(
        session: Any,
        rt_mod: Any,
        device: Device,
        evaluator_config: EvaluatorConfig,
        repeated_args: list[list[Tensor]],
    ) -> list[float]:
        times = rt_mod.time_evaluator(
            rt_mod.entry_name, device, number=1, repeat=1, min_repeat_ms=0
        )
        secs: list[float] = []
        for args in repeated_args:
            rt_mod(*args)
            device.sync()
            fault = _difference(to_numpy(args), original_res)
            secs += [float(taken) for taken in times(*args).results]
            if not fault:
                print_result(f"pass, {_mean(original_run_secs) / max(_mean(secs), 1e-12):.2f} x")
                continue
            print_result(
                f"wrong, {fault}\nthe workload:\n{original_mod.script()}\n"
                f"the schedule:\n{scheduled_mod.script()}\nits trace:\n{trace}"
            )
        return secs

    return f_with_args_alloc_argument, f_with_args_run_evaluator


def _mean(secs: Sequence[float]) -> float:
    return sum(secs) / max(len(secs), 1)


def _difference(found: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]]) -> str:
    """Which argument differs, and how far; nothing if all are close."""
    for at, (one, other) in enumerate(zip(found, expected)):
        if not np.allclose(one, other, rtol=1e-3, atol=1e-3):
            away = np.abs(one.astype("float64") - other.astype("float64")).max()
            return f"argument {at} is off by up to {away:.3g}"
    return ""


def _faults(record: TuningRecord, target: Target) -> str:
    """What is wrong with a schedule; nothing if it computes what its workload does."""
    mod = record.workload.mod
    device = get_runtime_device(target)
    inputs = to_numpy(default_input_generator(mod))
    expected, _ = local_build_and_run(mod, target, device, inputs)
    try:
        found, _ = local_build_and_run(record.schedule().mod, target, device, inputs)
    except (TVMError, ValueError) as err:
        return f"does not run: {err}"
    return _difference(found, expected)


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m tvm.meta_schedule.testing.validate_database", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("--work-dir", required=True, type=Path)
    found.add_argument("--target", required=True, type=Target)
    found.add_argument("--top-k", type=int, default=10**9, help="schedules of each workload")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the records, print what was found; the number of wrong ones."""
    args = parser().parse_args(arguments)
    database = JSONDatabase(work_dir=str(args.work_dir))
    ranked: dict[int, list[TuningRecord]] = {}
    for record in database.get_all_tuning_records():
        if not is_failed_record(record):
            ranked.setdefault(id(record.workload), []).append(record)
    chosen = [
        record
        for records in ranked.values()
        for record in sorted(records, key=lambda one: one.mean_secs)[: args.top_k]
    ]
    wrong = 0
    for number, record in enumerate(chosen, 1):
        fault = _faults(record, args.target)
        wrong += bool(fault)
        print_with_counter_func(number, len(chosen))(f"wrong, {fault}" if fault else "pass")
    print(f"{len(chosen)} schedules, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    raise SystemExit(1 if main() else 0)
