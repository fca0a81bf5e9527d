"""Networks of open sizes beside those of known sizes, ONNX Runtime and OpenVINO, by processor time.

    TVM_NUM_THREADS=1 python -m benchmarks.open_sizes FOLDER [-mcpu=NAME] [part of a name ...]

Each network of `benchmarks.catalogue` whose file lies in the folder is compiled with every size
open, and once more for each of its inputs alone. All run in turns; the figures are milliseconds of
processor time, the fewest of all turns, so that a busy machine disturbs them less than by the
clock. The error is the largest difference to ONNX Runtime by its largest element; ONNX Runtime and
OpenVINO take what the machine has, whatever `-mcpu` says.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import benchmarks.shipped
import benchmarks.zoo  # noqa: F401  enters the networks
import tvm
from benchmarks.catalogue import NETWORKS, Network, file_of
from benchmarks.hot_sizes import fewest
from benchmarks.networks import _error, _onnxruntime, _openvino
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

Row = tuple[str, float | str, list[float]]


def measured(network: Network, path: Path, target: str) -> list[Row]:
    """The shapes of each input, the error, and ms: open, known, ONNX Runtime, OpenVINO."""
    model = onnx.load(str(path))
    wide = _main(from_onnx(model), target)
    theirs, names = _onnxruntime(path)
    other = _openvino(path)
    made: list[Row] = []
    for which in range(network.sizes):
        feeds = network.inputs(which)
        values = [np.asarray(feeds[name]) for name in names]
        shapes = {name: list(feeds[name].shape) for name in names}
        known = _main(from_onnx(model, shape_dict=shapes), target)
        given = [tvm.runtime.tensor(value) for value in values]
        try:
            got = wide(*given)
        except tvm.error.ShapeError as err:  # a size that is refused must not hide the others
            made.append((str(shapes), str(err).splitlines()[0][:90], []))
            continue
        got = [got] if hasattr(got, "numpy") else list(got)
        error = _error(theirs(values), [value.numpy() for value in got])
        runs: list[Callable[[], Any]] = [functools.partial(main, *given) for main in (wide, known)]
        runs.append(functools.partial(theirs, values))
        if other is not None:
            runs.append(functools.partial(other, values))
        shown = " ".join("x".join(map(str, value.shape)) for value in values)
        made.append((shown, error, fewest(runs)))
    return made


def _main(mod: tvm.IRModule, target: str) -> Callable[..., Any]:
    return relax.VirtualMachine(tvm.compile(mod, target), tvm.cpu())["main"]


def main(words: list[str]) -> None:
    """Measure, and print a table."""
    os.environ["TVM_HOT_SIZES"] = "0"  # open sizes are what is asked for
    target = " ".join(["llvm", *(word for word in words if word.startswith("-"))])
    folder, *parts = (word for word in words if not word.startswith("-"))
    print(f"{target}\n", flush=True)
    print("| network | inputs | error | open | known | ONNX Runtime | OpenVINO | open / better "
          "| open / known |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    ratios: list[tuple[float, float]] = []
    for name, network in NETWORKS.items():
        path = file_of(Path(folder), name)
        if not path.exists() or not any(part in name for part in parts or [""]):
            continue
        for shown, error, times in measured(network, path, target):
            if not times:
                print(f"| {name} | {shown} | {error} |" + " |" * 6, flush=True)
                continue
            wide, known, *others = times
            ratios.append((wide / min(others), wide / known))
            cells = [f"{ms:.3f}" for ms in (*times, *[math.nan] * (2 - len(others)))]
            cells += [f"{ratio:.2f}" for ratio in ratios[-1]]
            print(f"| {name} | {shown} | {error} | " + " | ".join(cells) + " |", flush=True)
            name = ""
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in zip(*ratios)]
    most = [max(column) for column in zip(*ratios)]
    print(f"\ngeometric means {means[0]:.2f} and {means[1]:.2f}, "
          f"largest {most[0]:.2f} and {most[1]:.2f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
