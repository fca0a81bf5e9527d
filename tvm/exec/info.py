"""`tvm info`: what this installation is and has: versions, processor and roofs, backends, cache."""

from __future__ import annotations

import argparse
import dataclasses
import platform

from tvm.backend import BACKENDS
from tvm.backend.llvm import cache, jit
from tvm.base import __version__
from tvm.exec.cache import described
from tvm.exec.command import Outcome
from tvm.report import roofs
from tvm.report.words import Roofs
from tvm.runtime import device, num_threads
from tvm.support import compiled_core
from tvm.target import Target
from tvm.target.cpu_model import CpuModel


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--measure", action="store_true",
        help="measure the roofs of this machine anew, and keep them",
    )  # fmt: skip
    parser.add_argument(
        "--devices", action="store_true", help="ask the drivers which backends can run here"
    )


def run(args: argparse.Namespace) -> Outcome:
    machine, model = jit.host_machine(), Target("llvm").cpu
    found = roofs(anew=True) if args.measure else roofs(measure=False)
    runs = _runs(args.devices)
    record: dict[str, object] = {
        "version": __version__,
        "python": platform.python_version(),
        "core": compiled_core.described(),
        "llvm": ".".join(map(str, jit.llvm_version())),
        "triple": machine.triple,
        "cpu": machine.cpu,
        "threads": num_threads(),
        "machine": {**dataclasses.asdict(model), "features": sorted(model.features)},
        "roofs": None if found is None else dataclasses.asdict(found),
        "backends": runs,
        "cache": described(),
    }
    lines = [
        f"tvm-py    {record['version']}",
        f"python    {record['python']}",
        f"core      {record['core']}",
        f"llvm      {record['llvm']}",
        f"target    {machine.triple}, {machine.cpu}, {num_threads()} threads",
        f"machine   {_machine(model)}",
        f"roofs     {_roofs(found)}",
        f"backends  compile for {', '.join(runs)}",
        f"          run on {_shown(runs, args.devices)}",
        f"cache     {cache.folder() if cache.enabled() else 'switched off (TVM_CACHE)'}",
    ]
    if cache.enabled():
        used = cache.usage()
        lines.append(f"          {used.files} files, {used.bytes:,} of {cache.limit():,} bytes")
    return Outcome("\n".join(lines), record)


def _machine(model: CpuModel) -> str:
    caches = (model.l1d_bytes, model.l2_bytes, model.l3_bytes)
    shown = ", ".join(f"{size >> 10:,} KiB" for size in caches)
    return (
        f"{model.vector_registers} vectors of {model.vector_bits} bits, {model.fma_ports} FMA "
        f"ports, {model.cores} cores, caches {shown}"
    )


def _roofs(found: Roofs | None) -> str:
    if found is None:
        return "not measured yet: tvm info --measure"
    own = found.peaks["float32"]
    others = [f"{k} {p.all:.0f}" for k, p in found.peaks.items() if k != "float32"]
    rates = [f"{name} {rate.all:.0f} ({rate.one:.0f})" for name, rate in found.gbytes.items()]
    lines = [f"float32 {own.all:.0f} GFLOP/s ({own.one:.0f} with one thread)"]
    lines += [f"{', '.join(others)} GFLOP/s"] if others else []
    return "\n          ".join([*lines, f"{', '.join(rates)} GB/s"])


def _runs(ask: bool) -> dict[str, bool | None]:
    """Which target kinds have a backend, and whether its code runs here; None if not asked."""
    here = {"llvm": True, "c": True}
    kinds = sorted(BACKENDS)
    return {kind: here.get(kind, device(kind).exist if ask else None) for kind in kinds}


def _shown(runs: dict[str, bool | None], asked: bool) -> str:
    words = [kind for kind, runs_here in runs.items() if runs_here]
    return ", ".join(words) + ("" if asked else "; --devices asks the drivers of the others")
