"""What it brings that layers run image by image and attention by blocks of queries.

    TVM_NUM_THREADS=1 python -m benchmarks.locality

Each program is compiled with the passes `TileBatch` and `TileAttention` and without; both are run
in turns. Milliseconds of processor time, the best of several runs; the megabytes between kernels.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import tvm
from tvm import relax
from tvm.ir.transform import PassContext
from tvm.relax import op
from tvm.relax.vm.native import PlannedGraph
from tvm.script import relax as R
from tvm.support.notes import watching

PASSES = ["TileBatch", "TileAttention"]
RUNS = 15


def attention(heads: int, length: int, depth: int = 64, *, whole: bool = False) -> tvm.IRModule:
    """softmax(q k) v of all heads: products of heads that lie apart, or the operator."""
    bb = relax.BlockBuilder()
    rows, columns = (1, heads, length, depth), (1, heads, depth, length)
    shapes = [(1, length, heads, depth)] * 3 if whole else [rows, columns, rows]
    params = [relax.Var(n, R.Tensor(shape, "float32")) for n, shape in zip("qkv", shapes)]
    q, k, v = params
    with bb.function("main", params):
        with bb.dataflow():
            if whole:
                out = bb.emit_output(op.nn.attention(q, k, v))
            else:
                scores = bb.emit(op.matmul(q, k))
                out = bb.emit_output(op.matmul(bb.emit(op.nn.softmax(scores, -1)), v))
        bb.emit_func_output(out)
    return bb.get()


def separable(batch: int, side: int = 112) -> tvm.IRModule:
    """The first layers of a MobileNetV2: pointwise, depthwise, pointwise, twice."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> relax.Constant:
        return relax.const(rng.standard_normal(shape).astype("float32") * 0.1)

    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch, 16, side, side), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            made: Any = x
            for ins, wide, outs, stride in ((16, 96, 24, 2), (24, 144, 24, 1), (24, 144, 32, 2)):
                made = op.clip(bb.emit(op.nn.conv2d(made, weights(wide, ins, 1, 1))), 0, 6)
                deep = {"strides": stride, "padding": 1, "groups": wide}
                made = op.nn.conv2d(bb.emit(made), weights(wide, 1, 3, 3), **deep)
                made = bb.emit(op.clip(bb.emit(made), 0, 6))
                made = bb.emit(op.nn.conv2d(made, weights(outs, wide, 1, 1)))
            out = bb.emit_output(made)
        bb.emit_func_output(out)
    return bb.get()


def programs() -> Iterator[tuple[str, tvm.IRModule]]:
    for heads, length in ((12, 197), (12, 512), (12, 1024), (6, 1500), (16, 2048), (16, 4096)):
        yield f"products of {heads} heads, {length}", attention(heads, length)
        yield f"attention of {heads} heads, {length}", attention(heads, length, whole=True)
    for batch in (2, 4, 8, 16):
        yield f"separable convolutions, {batch} images", separable(batch)


def compiled(mod: tvm.IRModule, disabled: list[str]) -> tuple[Any, float]:
    """The function and the megabytes of its arena."""
    planned: list[PlannedGraph] = []
    with PassContext(disabled_pass=disabled), watching(planned.append):
        ex = tvm.compile(mod, "llvm")
    total = next((p.arena.total for p in planned if isinstance(p, PlannedGraph)), None)
    return relax.VirtualMachine(ex, tvm.cpu())["main"], getattr(total, "value", 0) / 1e6


def main() -> None:
    """Print a row a program."""
    head = ("whole ms", "parts ms", "ratio", "whole MB", "parts MB")
    print(f"{'program':40s} " + " ".join(f"{word:>9s}" for word in head))
    rng = np.random.default_rng(0)
    for name, mod in programs():
        (whole, before), (parts, after) = (compiled(mod, off) for off in (PASSES, []))
        shapes = [[int(e) for e in p.struct_info.shape.values] for p in mod["main"].params]  # type: ignore[attr-defined]
        args = [tvm.runtime.tensor(rng.standard_normal(s).astype("float32")) for s in shapes]
        best = [float("inf")] * 2
        for _ in range(RUNS):
            for i, func in enumerate((whole, parts)):
                start = time.process_time()
                func(*args)
                best[i] = min(best[i], time.process_time() - start)
        print(f"{name:40s} {best[0] * 1e3:9.2f} {best[1] * 1e3:9.2f} {best[1] / best[0]:9.2f} "
              f"{before:9.1f} {after:9.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
