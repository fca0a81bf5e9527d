"""LLVM's passes as chosen by what a kernel holds, beside all of them for every kernel.

    TVM_NUM_THREADS=1 python -m benchmarks.llvm_passes FOLDER [part of a name ...] [--cpu haswell]

Each network of `benchmarks.zoo` (written into the folder where it is missing) is compiled both ways
in this process without a cache, once with every size open and once for the sizes of its first
input, and the two programs run in turns. Figures are seconds of processor time to compile, and the
fewest milliseconds of a run.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
from pathlib import Path
from typing import Any

import onnx

import benchmarks.zoo  # noqa: F401  enters the networks
import tvm
from benchmarks.catalogue import NETWORKS, Network, file_of
from benchmarks.hot_sizes import fewest
from tvm import relax
from tvm.backend.llvm import jit, passes
from tvm.relax.frontend.onnx import from_onnx

NAMES = ("ocr direction", "magika", "torchvision mobilenet_v2 (script)",
         "torchvision resnet18 (script)", "bert (script)", "frames LSTM (script)",
         "wav2vec2 (script)")  # fmt: skip
CHOSEN = passes.wants_all


def compiled(mod: Any, target: tvm.target.Target, whole: bool) -> tuple[Any, float]:
    """The program and the seconds that it took, with all passes or as chosen."""
    passes.wants_all = (lambda text: True) if whole else CHOSEN
    try:
        before = time.process_time()
        made = tvm.compile(mod, target=target)
        seconds = time.process_time() - before
        return relax.VirtualMachine(made, tvm.cpu())["main"], seconds
    finally:
        passes.wants_all = CHOSEN


def report(network: Network, path: Path, target: tvm.target.Target) -> None:
    model = onnx.load(str(path))
    feeds = network.inputs(0)
    names = [value.name for value in model.graph.input if value.name in feeds]
    given = [tvm.runtime.tensor(feeds[name]) for name in names]
    shapes = {name: list(value.shape) for name, value in feeds.items()}
    for kind, known in (("open", None), ("known", shapes)):
        pairs = [compiled(from_onnx(model, shape_dict=known), target, whole)
                 for whole in (True, False)]  # fmt: skip
        runs = fewest([functools.partial(main, *given) for main, _ in pairs])
        print(f"{network.name:36} {kind:5}  compile {pairs[0][1]:6.2f} {pairs[1][1]:6.2f} s  "
              f"run {runs[0]:8.3f} {runs[1]:8.3f} ms  {runs[1] / runs[0]:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", default=NAMES)
    parser.add_argument("--cpu", default="haswell")
    args = parser.parse_args()
    os.environ |= {"TVM_CACHE": "0", "TVM_COMPILE_WORKERS": "0"}
    jit.LARGE_TEXT = 1 << 40  # all is compiled in this process, whose time is measured
    target = tvm.target.Target(f"llvm -mcpu={args.cpu}")
    for name, network in NETWORKS.items():
        if any(part in name for part in args.parts):
            path = file_of(args.folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                network.write(path)
            report(network, path, target)


if __name__ == "__main__":
    main()
