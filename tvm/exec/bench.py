"""`tvm bench MODEL`: how long a program takes, as a whole and kernel by kernel.

MODEL is a library that `tvm compile` wrote, or a model, which is compiled first. With `--vs` other
runtimes run the same ONNX model in turns.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.error import message
from tvm.exec import signature
from tvm.exec.command import Mistake, Outcome, Steps, table
from tvm.exec.files import load_arrays
from tvm.exec.kernels import kernel_times, show_kernels
from tvm.exec.library import add_trust, as_arrays, load_library
from tvm.exec.peers import Peer, compare, node_seconds, peer_names, show_peers
from tvm.exec.program import LEGAL, LIBRARIES, read_program
from tvm.exec.progress import Progress
from tvm.exec.shapes import LEGAL as LEGAL_SHAPES
from tvm.runtime import cpu, num_threads, tensor
from tvm.runtime.vm import VirtualMachine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tvm.exec.kernels import KernelTime
    from tvm.runtime import BenchmarkResult


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "library", type=Path, metavar="MODEL", help=f"a library that tvm compile wrote, or {LEGAL}"
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="IN.npz", help="arrays to measure with (default: random)"
    )
    parser.add_argument(
        "--number", type=_count, default=100, help="runs in one measurement (default: 100)"
    )
    parser.add_argument(
        "--repeat", type=_count, default=10, help="measurements to take (default: 10)"
    )
    parser.add_argument(
        "--input-shapes", default="", metavar="SHAPES", help=f"fix input shapes: {LEGAL_SHAPES}"
    )
    parser.add_argument(
        "--vs", type=peer_names, default=[], metavar="RUNTIMES",
        help="run these on the same ONNX model in turns: onnxruntime,openvino",
    )  # fmt: skip
    add_trust(parser)


def run(args: argparse.Namespace) -> Outcome:
    if args.vs and args.library.suffix != ".onnx":
        asked = f"--vs {','.join(args.vs)} with {str(args.library)!r}"
        raise Mistake(message(asked, found=f"suffix {args.library.suffix!r}", legal="a .onnx file"))
    steps = Steps(args.verbose)
    with steps.step("load"):
        vm = _machine(args)
        params = vm.signature("main").params
        given = load_arrays(args.inputs) if args.inputs else signature.random_arrays(params)
        where = repr(str(args.inputs)) if args.inputs else "the measurement"
        arrays = signature.in_order(params, given, where)
        inputs = [tensor(array) for array in arrays]
    with steps.step("warm up"):
        vm["main"](*inputs)
    peers: list[Peer] = []
    record: dict[str, object] = {"threads": num_threads()}
    parts: list[str] = []
    if args.vs:
        with steps.step("compare"):
            ours_s, peers = compare(
                args.vs, args.library, lambda: as_arrays(vm["main"](*inputs)), arrays,
                num_threads(), args.repeat * 5,
            )  # fmt: skip
        record["vs"] = {"ours_s": ours_s, "peers": [peer._asdict() for peer in peers]}
        parts.append(show_peers(ours_s, peers))
    else:
        with steps.step("measure"):
            evaluate = vm.time_evaluator("main", cpu(), number=args.number, repeat=args.repeat)
            result = evaluate(*inputs)
        record |= _latency(result, args)
        parts.append(_summary(result, args.number))
    with steps.step("profile"):
        kernels = kernel_times(vm, inputs)
    record["kernels"] = [kernel._asdict() for kernel in kernels]
    if "onnxruntime" in args.vs:
        nodes = node_seconds(args.library, arrays, num_threads())
        record["nodes"] = _by_node(kernels, nodes)
        parts.append(_show_nodes(kernels, nodes))
    else:
        parts.append(show_kernels(kernels))
    return Outcome("\n\n".join(parts), record)


def _machine(args: argparse.Namespace) -> VirtualMachine:
    if args.library.suffix in LIBRARIES:
        return load_library(args.library, args.trusted_key)
    from tvm.driver import compile as compile_module  # a library needs no compiler

    with Progress(args):
        made = compile_module(read_program(args.library, args.input_shapes), "llvm")
    return VirtualMachine(made, cpu())


def _latency(result: BenchmarkResult, args: argparse.Namespace) -> dict[str, object]:
    return {
        "latency_s": {
            "median": result.median,
            "mean": result.mean,
            "min": result.min,
            "max": result.max,
        },
        "number": args.number,
        "repeat": args.repeat,
    }


def _summary(result: BenchmarkResult, number: int) -> str:
    times = {"median": result.median, "min": result.min, "max": result.max}
    shown = "  ".join(f"{name} {seconds * 1e6:.1f} us" for name, seconds in times.items())
    runs = f"{len(result.results)} x {number} runs, {num_threads()} threads"
    return f"latency: {shown}  ({runs})"


def _by_node(
    kernels: Sequence[KernelTime], nodes: dict[str, float]
) -> list[dict[str, object]]:
    """Our kernels beside the nodes that they compute, as far as both have the names."""
    return [
        {
            "kernel": kernel.name,
            "ours_s": kernel.seconds,
            "nodes": [name for name in kernel.sources if name in nodes],
            "onnxruntime_s": _sum_of(kernel, nodes),
        }
        for kernel in kernels
    ]


def _sum_of(kernel: KernelTime, nodes: dict[str, float]) -> float | None:
    known = [nodes[name] for name in kernel.sources if name in nodes]
    return sum(known) if known else None


def _show_nodes(kernels: Sequence[KernelTime], nodes: dict[str, float]) -> str:
    rows = []
    for kernel in sorted(kernels, key=lambda k: -k.seconds):
        theirs = _sum_of(kernel, nodes)
        rows.append([
            kernel.name, f"{kernel.seconds * 1e6:.1f}",
            "-" if theirs is None else f"{theirs * 1e6:.1f}",
            "-" if theirs is None else f"{theirs / kernel.seconds:.2f}",
            ", ".join(name for name in kernel.sources if name in nodes) or "(other names there)",
        ])  # fmt: skip
    header = ["kernel", "us", "onnxruntime us", "times ours", "its nodes"]
    return table(header, rows, right=(1, 2, 3))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)
