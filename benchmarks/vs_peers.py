"""Operators and networks of known sizes beside ONNX Runtime and OpenVINO, untuned.

    TVM_NUM_THREADS=1 python -m benchmarks.vs_peers [part of a name ...] [--target TARGET]
                                                    [--files FOLDER]

Each row is one ONNX model for all. Runs take turns in one process, the fastest of each counts, and
the ratio is ours to the better of the others (below 1: ours is faster). OpenVINO is asked for
float32. With `--target "llvm -mcpu=znver3"`, say, ours keeps to an older instruction set, and the
others do not: then only the column of times says something, unless `benchmarks.older_isa` runs this
and holds all to AVX2. With `--files` the rows are the ONNX files of a folder, as
`benchmarks.full_size` writes them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.compile_time import NETWORKS
from benchmarks.kernels import CASES
from benchmarks.networks import THREADS, _alternating, _error, _onnxruntime, _openvino
from tvm import compile as compile_model
from tvm import cpu, runtime
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.vm import VirtualMachine
from tvm.target import Target

FIXED = ("three layers", "resnet50", "mobilenet_v2", "bert base", "gpt2 form")


class Row(NamedTuple):
    """A model, and how it is measured."""

    name: str
    kind: str
    write: Callable[[Path], list[Any] | None]
    file: Path | None = None


def rows() -> Iterator[Row]:
    """All rows: operators, then networks."""
    for name, case in CASES.items():
        def of_case(path: Path, case: Any = case) -> list[Any]:
            import onnx

            model, inputs = case()
            onnx.save(model, str(path))
            return list(inputs)

        yield Row(name, "operators", of_case)
    for name in FIXED:
        def of_network(path: Path, write: Any = NETWORKS[name]) -> None:
            write(path, False)

        yield Row(name, "networks", of_network)


def rows_of(folder: Path) -> Iterator[Row]:
    """Networks that lie in files, in the order of their names."""
    for path in sorted(folder.glob("*.onnx")):
        yield Row(path.stem.replace("_", " "), "networks", lambda _: None, path)


def measured(row: Row, path: Path, target: Target) -> tuple[list[float | None], Any, float]:
    """Times in ms (ours, ONNX Runtime, OpenVINO), the error, and seconds to compile."""
    import onnx

    given, path = row.write(path), row.file or path
    theirs, names = _onnxruntime(path)
    model = onnx.load(str(path))
    values = _inputs(model, names) if given is None else given
    start = time.process_time()
    machine = VirtualMachine(compile_model(from_onnx(model), target), cpu())
    compiled = time.process_time() - start
    ours, other = machine["main"], _openvino(path)
    tensors = [runtime.tensor(value) for value in values]
    got = ours(*tensors)
    found = [got] if hasattr(got, "numpy") else list(got)
    error = _error(theirs(values), [value.numpy() for value in found])
    runs: list[Callable[[], Any]] = [lambda: ours(*tensors), lambda: theirs(values)]
    if other is not None:
        runs.append(lambda: other(values))
    return _alternating(runs), error, compiled


def _inputs(model: Any, names: list[str]) -> list[Any]:
    """Random numbers of the declared shapes; small ones where they are integers."""
    from onnx import helper

    rng, found = np.random.default_rng(0), []
    for value in model.graph.input:
        if value.name not in names:
            continue
        kind = value.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        whole = np.issubdtype(dtype, np.integer)
        numbers = rng.integers(0, 2, shape) if whole else rng.standard_normal(shape)
        found.append(numbers.astype(dtype))
    return found


def main() -> None:
    """Measure rows, and print their ratios with the geometric mean of each kind."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vs_peers")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--files", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
    target, ratios = Target(options.target), dict[str, list[float]]()
    print(f"threads: {THREADS}, target: {target}")
    heads = "".join(f"{head:>10}" for head in ("tvm ms", "ort ms", "ov ms"))
    print(f"{'':26}{heads}{'ratio':>7}{'error':>9}{'compile s':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for i, row in enumerate(rows_of(options.files) if options.files else rows()):
            if options.parts and not any(part in row.name for part in options.parts):
                continue
            times, error, compiled = measured(row, Path(folder) / f"{i}.onnx", target)
            ours, *others = [*times, None][:3]
            best = min(value for value in others if value is not None)
            assert ours is not None, "ours runs"
            ratios.setdefault(row.kind, []).append(ours / best)
            shown = "".join(f"{'-' if v is None else f'{v:.3f}':>10}" for v in (ours, *others))
            print(f"{row.name:26}{shown}{ours / best:7.2f}{error:>9}{compiled:10.1f}", flush=True)
    for kind, found in ratios.items():
        mean = float(np.exp(np.mean(np.log(found))))
        print(f"{len(found)} {kind}: geometric mean {mean:.2f}, largest {max(found):.2f}, "
              f"{sum(r > 1 for r in found)} above 1")  # fmt: skip


if __name__ == "__main__":
    main()
