"""Running kernels on this machine, or on one behind a tracker."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.meta_schedule.runner import EvaluatorConfig, RPCConfig
from tvm.runtime import device, empty
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir.build import build
from tvm.tir.function import PrimFunc

from .extract import extract_all_func_info_from_relax, extract_func_info_from_prim_func
from .utils import (
    InputInfo,
    Populated,
    Sampler,
    default_dym_var_sample_func,
    dym_var_sample_str,
    populuate_input_shape,
    print_results,
)


def benchmark(
    mod_or_func: PrimFunc | IRModule,
    *,
    dym_var_sample: dict[str, int],
    args: Sequence[InputInfo] | None,
    target: str | Target | None = None,
    func_name: str | None = None,
    evaluator_config: EvaluatorConfig | None = None,
    rpc_config: RPCConfig | None = None,
) -> tuple[list[Populated], float, float]:
    """The inputs, and the median and standard deviation of the kernel's time in seconds."""
    mod, name = _one_function(mod_or_func, func_name)
    func = mod[name]
    if args is None:
        assert isinstance(func, PrimFunc), "kernels are TIR functions"
        args, _ = extract_func_info_from_prim_func(func)
    inputs = populuate_input_shape(args, dym_var_sample)
    library = build(mod, target=_target(target))
    config = evaluator_config or EvaluatorConfig(number=3, repeat=5, min_repeat_ms=0)
    if rpc_config is not None:
        times = _measured_remotely(library, name, inputs, config, rpc_config, _target(target))
    else:
        dev = device(_target(target).kind.name, 0)
        times = _measured(library, name, inputs, config, dev)
    return inputs, float(np.median(times)), float(np.std(times))


def _one_function(mod_or_func: PrimFunc | IRModule, name: str | None) -> tuple[IRModule, str]:
    if isinstance(mod_or_func, PrimFunc):
        return IRModule({"main": mod_or_func.with_attr("global_symbol", "main")}), "main"
    names = [var.name_hint for var in mod_or_func.functions]
    if name is None and len(names) != 1:
        raise ValueError(
            f"benchmark: a module with functions {', '.join(names)}; legal: name one as func_name"
        )
    return mod_or_func, name or names[0]


def _target(given: str | Target | None) -> Target:
    found = Target.current() if given is None else Target(given)
    if found is None:
        raise ValueError(
            "Target is not specified: give target=..., or call it within `with Target(...):`"
        )
    return found


def _data(inputs: Sequence[Populated], dev: Any) -> list[Any]:
    """Values for the inputs; numbers go as they are."""
    rng, found = np.random.default_rng(0), []
    for shape, dtype in inputs:
        if dtype == "scalar":
            found.append(shape[0])
        elif dtype.startswith(("float", "bfloat")):
            found.append(_as(rng.standard_normal(shape).astype("float32"), dtype, dev))
        else:
            found.append(_as(rng.integers(0, 2, shape), dtype, dev))
    return found


def _as(values: Any, dtype: str, dev: Any) -> Any:
    held = empty(values.shape, dtype, dev)
    held.copyfrom(values.astype(str(held.numpy().dtype)))
    return held


def _measured(
    library: Any, name: str, inputs: Sequence[Populated], config: EvaluatorConfig, dev: Any
) -> Sequence[float]:
    timer = library.time_evaluator(
        name, dev, number=config.number, repeat=config.repeat,
        min_repeat_ms=config.min_repeat_ms,
    )  # fmt: skip
    found: Sequence[float] = timer(*_data(inputs, dev)).results
    return found


def _measured_remotely(
    library: Any, name: str, inputs: Sequence[Populated], config: EvaluatorConfig,
    rpc: RPCConfig, target: Target,
) -> Sequence[float]:  # fmt: skip
    session = rpc.connect_server()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.tar"
        library.export_library(str(path))
        session.upload(str(path))
        remote = session.load_module(path.name)
        return _measured(remote, name, inputs, config, session.device(target.kind.name, 0))


def benchmark_prim_func(
    mod_or_func: PrimFunc | IRModule,
    *,
    dym_var_sample_func: Sampler = default_dym_var_sample_func,
    args: Sequence[InputInfo] | None = None,
    dym_var_dict: dict[str, str] | None = None,
    sample_number: int = 5,
    target: str | Target | None = None,
    weight: int | None = 1,
    relax_func_name: str | None = None,
    prim_func_name: str | None = None,
    evaluator_config: EvaluatorConfig | None = None,
    rpc_config: RPCConfig | None = None,
    sort_by: str | None = None,
    desc: bool | None = True,
) -> None:
    """A table of the kernel's times for several samples of its symbols; one if it has none."""
    mod, name = _one_function(mod_or_func, None)
    func = mod[name]
    assert isinstance(func, PrimFunc), "kernels are TIR functions"
    own_args, own_vars = extract_func_info_from_prim_func(func)
    args = own_args if args is None else args
    symbols = dym_var_dict
    if symbols is None:
        symbols = {str(var): dtype for var, dtype in own_vars.items()}
    rows = []
    for _ in range(sample_number if symbols else 1):
        sample = dym_var_sample_func(symbols) if symbols else {}
        found = benchmark(
            mod, args=args, dym_var_sample=sample, target=target, func_name=name,
            evaluator_config=evaluator_config, rpc_config=rpc_config,
        )  # fmt: skip
        rows.append(_row(relax_func_name, prim_func_name or name, found, sample, weight or 1))
    print_results(rows, sort_by=sort_by or "", desc=bool(desc))


def _row(
    relax_name: str | None, name: str, found: tuple[list[Populated], float, float],
    sample: dict[str, int], weight: int,
) -> dict[str, Any]:  # fmt: skip
    inputs, median, deviation = found
    moved = sum(_bytes(shape, dtype) for shape, dtype in inputs)
    row: dict[str, Any] = {} if relax_name is None else {"RelaxFunc": relax_name}
    return row | {
        "PrimFunc": name, "InputInfo": dym_var_sample_str(sample) or "static",
        "Time(us)": median * 1e6, "Std(us)": deviation * 1e6,
        "Memory(GB/s)": moved / max(median, 1e-12) / 2**30, "Weight": weight,
        "WxTime(ms)": weight * median * 1e3,
    }  # fmt: skip


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    if dtype in ("scalar", "shape"):
        return 0
    kind = DataType(dtype)
    return math.prod(shape) * kind.bits * kind.lanes // 8


def benchmark_relax_func(
    mod: IRModule,
    relax_func: GlobalVar | str,
    sample_number: int = 2,
    dym_var_sample_func: Sampler = default_dym_var_sample_func,
    target: str | Target = "llvm -num-cores=4",
    evaluator_config: EvaluatorConfig | None = None,
    rpc_config: RPCConfig | None = None,
) -> None:
    """A table of the times of all kernels that a graph calls, for several samples of symbols."""
    calls, symbols = extract_all_func_info_from_relax(mod)
    wanted = relax_func if isinstance(relax_func, str) else relax_func.name_hint
    var = next((v for v in calls if v.name_hint == wanted), None)
    if var is None:
        raise TVMError(
            message(f"benchmark_relax_func: function {wanted!r}", found="no such graph",
                    legal=", ".join(v.name_hint for v in calls))
        )  # fmt: skip
    rows = []
    for _ in range(sample_number if symbols[var] else 1):
        sample = dym_var_sample_func(symbols[var])
        for kernel, records in calls[var].items():
            for args, weight in records:
                found = benchmark(
                    IRModule({kernel.name_hint: mod[kernel]}), args=args, dym_var_sample=sample,
                    target=target, func_name=kernel.name_hint, evaluator_config=evaluator_config,
                    rpc_config=rpc_config,
                )  # fmt: skip
                rows.append(_row(wanted, kernel.name_hint, found, sample, weight))
    print_results(rows)
