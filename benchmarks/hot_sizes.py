"""Variants for hot sizes beside programs compiled for those sizes alone.

    TVM_NUM_THREADS=1 python -m benchmarks.hot_sizes FOLDER [part of a name ...]

Each network of `benchmarks.zoo` (written into the folder where it is missing) is compiled with
every size open, given a variant for each of its three inputs, and compiled once more for each input
alone. The program without variants, with them, and the one of known sizes run in turns; the figures
are milliseconds of processor time, the fewest of all turns. A call of the variant finds it by the
sizes of its inputs, which is all that it should cost more.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import benchmarks.zoo  # noqa: F401  enters the networks
import tvm
from benchmarks.catalogue import NETWORKS, Network, file_of
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.transform.specialize import with_variants

NAMES = ("ocr direction", "magika", "torchvision mobilenet_v2 (script)",
         "torchvision squeezenet1_1 (script)", "bert (script)", "frames GRU (script)")  # fmt: skip
MIN_S, MIN_TURNS = 3.0, 15


def measured(network: Network, path: Path) -> list[tuple[str, list[float]]]:
    """The shapes of each input with ms: open sizes, variant, known sizes."""
    model = onnx.load(str(path))
    mod = from_onnx(model)
    inputs = [network.inputs(which) for which in range(network.sizes)]
    sizes = [{name: tuple(value.shape) for name, value in feeds.items()} for feeds in inputs]
    open_sizes, hot = _machine(mod), _machine(with_variants(mod, sizes))
    made = []
    for feeds in inputs:
        shapes = {name: list(value.shape) for name, value in feeds.items()}
        known = _machine(from_onnx(model, shape_dict=shapes))
        names = [value.name for value in model.graph.input if value.name in feeds]
        given = [tvm.runtime.tensor(np.asarray(feeds[name])) for name in names]
        mains = [machine["main"] for machine in (open_sizes, hot, known)]
        runs = [functools.partial(main, *given) for main in mains]
        shown = " ".join("x".join(map(str, shapes[name])) for name in names)
        made.append((shown, fewest(runs)))
    return made


def fewest(runs: Sequence[Callable[[], Any]]) -> list[float]:
    """The fewest ms of processor time of each, in turns."""
    best, end, turns = [float("inf")] * len(runs), time.perf_counter() + MIN_S, 0
    while turns < MIN_TURNS or time.perf_counter() < end:
        for which, run in enumerate(runs):
            start = time.process_time()
            run()
            taken = (time.process_time() - start) * 1e3
            if turns:  # the first may wait for memory
                best[which] = min(best[which], taken)
        turns += 1
    return best


def _machine(mod: tvm.IRModule) -> Any:
    return relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hot_sizes")
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    os.environ["TVM_HOT_SIZES"] = "0"  # only what is asked for
    options.folder.mkdir(parents=True, exist_ok=True)
    names: tuple[str, ...] = NAMES
    if options.parts:
        names = tuple(name for name in NETWORKS if any(part in name for part in options.parts))
        assert names, f"no network has one of these in its name: {', '.join(options.parts)}"
    print("| network | inputs | open sizes | variant | known sizes | variant / known |")
    print("|---|---|---|---|---|---|")
    ratios = []
    for name in names:
        path = file_of(options.folder, name)
        if not path.exists():
            NETWORKS[name].write(path)
        for shown, (wide, variant, known) in measured(NETWORKS[name], path):
            ratios.append(variant / known)
            print(f"| {name} | {shown} | {wide:.3f} | {variant:.3f} | {known:.3f} "
                  f"| {variant / known:.3f} |", flush=True)  # fmt: skip
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
