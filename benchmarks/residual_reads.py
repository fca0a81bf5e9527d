"""What it brings that the other operand of a residual connection is fetched during the sum.

    TVM_NUM_THREADS=1 python -m benchmarks.residual_reads [TARGET]

1x1 convolutions of a ResNet-50 with a bias, what is added, and a relu, compiled with
`tir.PrefetchEpilogues` and without; both run in turns on data that has left the second cache.
Milliseconds of processor time, the best of several runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tvm
from tvm import relax
from tvm.ir.transform import PassContext
from tvm.relax import op
from tvm.relax.vm import VirtualMachine

CASES: Final = ((64, 256, 56), (128, 512, 28), (256, 1024, 14), (512, 2048, 7))
RUNS: Final = 40
OTHER_DATA: Final = 4 << 20  # elements that are read in between


def layer(ins: int, outs: int, side: int) -> tvm.IRModule:
    """A convolution with a bias and what is added to it."""
    rng = np.random.default_rng(0)
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, ins, side, side), "float32"))
    r = relax.Var("r", relax.TensorStructInfo((1, outs, side, side), "float32"))
    weights = relax.const((rng.standard_normal((outs, ins, 1, 1)) / ins).astype("float32"))
    bias = relax.const(rng.standard_normal((1, outs, 1, 1)).astype("float32"))
    with bb.function("main", [x, r]):
        with bb.dataflow():
            made = bb.emit(op.add(bb.emit(op.nn.conv2d(x, weights)), bias))
            out = bb.emit_output(op.nn.relu(bb.emit(op.add(made, r))))
        bb.emit_func_output(out)
    return bb.get()


def compiled(mod: tvm.IRModule, target: str, disabled: list[str]) -> Callable[..., Any]:
    """The function, without some passes."""
    with PassContext(disabled_pass=disabled):
        made: Callable[..., Any] = VirtualMachine(tvm.compile(mod, target), tvm.cpu())["main"]
    return made


def main(target: str = "llvm") -> None:
    """Print a row a layer."""
    print(f"{target}\n{'layer':22s} {'without':>9s} {'with':>9s} {'ratio':>7s}")
    rng, other = np.random.default_rng(1), np.zeros(OTHER_DATA, "float32")
    for ins, outs, side in CASES:
        mod = layer(ins, outs, side)
        forms = [compiled(mod, target, off) for off in (["tir.PrefetchEpilogues"], [])]
        args = [
            tvm.runtime.tensor(rng.standard_normal((1, c, side, side)).astype("float32"))
            for c in (ins, outs)
        ]
        best = [float("inf")] * 2
        for _ in range(RUNS):
            for i, form in enumerate(forms):
                other.sum()
                start = time.process_time()
                form(*args)
                best[i] = min(best[i], time.process_time() - start)
        print(f"{f'{ins} to {outs}, {side}x{side}':22s} {best[0] * 1e3:9.3f} {best[1] * 1e3:9.3f} "
              f"{best[1] / best[0]:7.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
