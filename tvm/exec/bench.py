"""`tvm bench model.so`: how long a compiled library takes, as a whole and kernel by kernel."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.exec import signature
from tvm.exec.command import Outcome, Steps
from tvm.exec.files import load_arrays
from tvm.exec.kernels import kernel_times, show_kernels
from tvm.exec.library import add_trust, load_library
from tvm.runtime import cpu, num_threads, tensor

if TYPE_CHECKING:
    from tvm.runtime import BenchmarkResult


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("library", type=Path, metavar="LIBRARY", help="what tvm compile wrote")
    parser.add_argument(
        "--inputs", type=Path, metavar="IN.npz", help="arrays to measure with (default: random)"
    )
    parser.add_argument(
        "--number", type=_count, default=100, help="runs in one measurement (default: 100)"
    )
    parser.add_argument(
        "--repeat", type=_count, default=10, help="measurements to take (default: 10)"
    )
    add_trust(parser)


def run(args: argparse.Namespace) -> Outcome:
    steps = Steps(args.verbose)
    with steps.step("load"):
        vm = load_library(args.library, args.trusted_key)
        params = vm.signature("main").params
        arrays = load_arrays(args.inputs) if args.inputs else signature.random_arrays(params)
        where = repr(str(args.inputs)) if args.inputs else "the measurement"
        inputs = [tensor(array) for array in signature.in_order(params, arrays, where)]
    with steps.step("warm up"):
        vm["main"](*inputs)
    with steps.step("measure"):
        evaluate = vm.time_evaluator("main", cpu(), number=args.number, repeat=args.repeat)
        result = evaluate(*inputs)
    with steps.step("profile"):
        kernels = kernel_times(vm, inputs)
    return Outcome(
        f"{_summary(result, args.number)}\n\n{show_kernels(kernels)}",
        {
            "latency_s": {
                "median": result.median,
                "mean": result.mean,
                "min": result.min,
                "max": result.max,
            },
            "number": args.number,
            "repeat": args.repeat,
            "threads": num_threads(),
            "kernels": [kernel._asdict() for kernel in kernels],
        },
    )


def _summary(result: BenchmarkResult, number: int) -> str:
    times = {"median": result.median, "min": result.min, "max": result.max}
    shown = "  ".join(f"{name} {seconds * 1e6:.1f} us" for name, seconds in times.items())
    runs = f"{len(result.results)} x {number} runs, {num_threads()} threads"
    return f"latency: {shown}  ({runs})"


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)
