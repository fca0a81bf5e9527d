"""Operators that only move elements, of sizes known when they run, beside those of known sizes.

    TVM_NUM_THREADS=1 python benchmarks/data_movement.py [-mcpu=NAME] [--dtype=NAME] [part ...]

Each row is one operator on a tensor of 4 x 16 x 56 x 57 (or what the row says), compiled with a
symbol for each extent and once for the sizes; both run in turns, results are compared, and the
fastest runs are printed in nanoseconds for an element of the result.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tvm
from tvm import relax, tir
from tvm.relax import op
from tvm.relax.frontend.onnx.moving import padded
from tvm.relax.vm import VirtualMachine

Build = Callable[[relax.BlockBuilder, Any, Any], Any]
PLANES = (4, 16, 56, 57)
SMALL = (8, 64, 7, 7)


def i64(value: int) -> Any:
    return tir.const(value, "int64")


def onnx_pad(mode: str) -> Build:
    """Pads that are numbers of the call: an input of the function says them."""
    def build(bb: relax.BlockBuilder, x: Any, n: Any) -> Any:
        low, high = n[0], n[0] + 1
        return padded(bb, x, [0, 0, low, low], [0, 0, high, high], mode)
    return build


def known_pad(mode: str) -> Build:
    return lambda bb, x, n: op.nn.pad(x, [0, 0, 0, 0, 1, 2, 1, 2], mode)


def take(axis: int) -> Build:
    ids = relax.const(np.arange(13, dtype="int64")[::-1].copy() % 7)
    return lambda bb, x, n: op.take(x, ids, axis)


OPS: dict[str, Build] = {
    "onnx pad constant": onnx_pad("constant"),
    "onnx pad reflect": onnx_pad("reflect"),
    "onnx pad edge": onnx_pad("edge"),
    "onnx pad wrap": onnx_pad("wrap"),
    "pad constant": known_pad("constant"),
    "pad reflect": known_pad("reflect"),
    "pad replicate": known_pad("replicate"),
    "pad circular": known_pad("circular"),
    "concat 0": lambda bb, x, n: op.concat([x, x], 0),
    "concat 1": lambda bb, x, n: op.concat([x, x, x], 1),
    "concat 2": lambda bb, x, n: op.concat([x, x], 2),
    "concat 3": lambda bb, x, n: op.concat([x, x, x], 3),
    "stack 0": lambda bb, x, n: op.stack([x, x], 0),
    "stack -1": lambda bb, x, n: op.stack([x, x], -1),
    "split 1": lambda bb, x, n: op.split(x, [3], 1),
    "split 3": lambda bb, x, n: op.split(x, [3], 3),
    "strided_slice 3": lambda bb, x, n: op.strided_slice(x, [3], [1], [1000]),
    "strided_slice 2, 3": lambda bb, x, n: op.strided_slice(x, [2, 3], [1, 2], [-1, -1]),
    "strided_slice s2": lambda bb, x, n: op.strided_slice(x, [2, 3], [0, 0], [1000, 1000], [2, 2]),
    "strided_slice s-1": lambda bb, x, n: op.strided_slice(x, [3], [-1], [-1000], [-1]),
    "slice by n": lambda bb, x, n: op.strided_slice(x, [3], [n[0] // 4], [n[3] - n[0] // 4]),
    "dynamic slice": lambda bb, x, n: op.dynamic_strided_slice(
        x, *(relax.const(np.array(v, "int64"))
             for v in ([0, 1, 2, 1], [4, 12, 6, 5], [1, 1, 1, 1]))),
    "tile 0": lambda bb, x, n: op.tile(x, [2, 1, 1, 1]),
    "tile 2": lambda bb, x, n: op.tile(x, [1, 1, 2, 1]),
    "tile 3": lambda bb, x, n: op.tile(x, [1, 1, 1, 2]),
    "repeat 1": lambda bb, x, n: op.repeat(x, 2, 1),
    "repeat 3": lambda bb, x, n: op.repeat(x, 2, 3),
    "expand channel": lambda bb, x, n: op.broadcast_to(
        op.mean(x, [2, 3], True), relax.ShapeExpr(n)),
    "expand row": lambda bb, x, n: op.broadcast_to(op.max(x, [0, 1, 2], True), relax.ShapeExpr(n)),
    "expand column": lambda bb, x, n: op.broadcast_to(op.max(x, [3], True), relax.ShapeExpr(n)),
    "flip 3": lambda bb, x, n: op.flip(x, 3),
    "flip 2": lambda bb, x, n: op.flip(x, 2),
    "flip 0": lambda bb, x, n: op.flip(x, 0),
    "take 0": take(0),
    "take 1": take(1),
    "take 2": take(2),
    "take 3": take(3),
    "permute 0231": lambda bb, x, n: op.permute_dims(x, [0, 2, 3, 1]),
    "permute 0312": lambda bb, x, n: op.permute_dims(x, [0, 3, 1, 2]),
    "permute 0213": lambda bb, x, n: op.permute_dims(x, [0, 2, 1, 3]),
    "permute 0132": lambda bb, x, n: op.permute_dims(x, [0, 1, 3, 2]),
    "permute 1023": lambda bb, x, n: op.permute_dims(x, [1, 0, 2, 3]),
    "permute 3210": lambda bb, x, n: op.permute_dims(x, [3, 2, 1, 0]),
    "reshape": lambda bb, x, n: op.add(op.reshape(x, (n[0] * n[1], n[2] * n[3])),
                                       relax.const(np.float32(1))),
    "split heads": lambda bb, x, n: op.permute_dims(
        op.reshape(x, (n[0], n[1] // 4, 4, n[2], n[3])), [0, 1, 3, 2, 4]),
    "shuffle channels": lambda bb, x, n: op.reshape(op.permute_dims(
        op.reshape(x, (n[0], n[1] // 4, 4, n[2], n[3])), [0, 2, 1, 3, 4]), tuple(n)),
    "pixel_shuffle": lambda bb, x, n: op.nn.pixel_shuffle(x, 2),
    "depth to space": lambda bb, x, n: op.reshape(op.permute_dims(
        op.reshape(x, (n[0], 2, 2, n[1] // 4, n[2], n[3])), [0, 3, 4, 1, 5, 2]),
        (n[0], n[1] // 4, n[2] * 2, n[3] * 2)),
    "patches": lambda bb, x, n: op.permute_dims(op.reshape(
        op.strided_slice(x, [2, 3], [0, 0], [n[2] // 4 * 4, n[3] // 4 * 4]),
        (n[0], n[1], n[2] // 4, 4, n[3] // 4, 4)),
        [0, 2, 4, 1, 3, 5]),
    "layout NCHW4c": lambda bb, x, n: op.layout_transform(
        x, lambda a, c, h, w: (a, c // 4, h, w, c % 4)),
    "triu": lambda bb, x, n: op.triu(x, 1),
    "tril": lambda bb, x, n: op.tril(x, -1),
    "where": lambda bb, x, n: op.where(op.greater(x, relax.const(np.float32(0))), x,
                                       op.mean(x, [3], True)),
    "gather_elements 3": lambda bb, x, n: op.gather_elements(
        x, op.astype(op.clip(op.multiply(x, relax.const(np.float32(1))), 0, 6), "int64"), 3),
    "resize nearest": lambda bb, x, n: op.image.resize2d(
        x, (n[2] * 2, n[3] * 2), method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric", rounding_method="floor"),
    "resize linear": lambda bb, x, n: op.image.resize2d(
        x, (n[2] * 2, n[3] * 2), method="linear",
        coordinate_transformation_mode="half_pixel"),
    "full": lambda bb, x, n: op.full(relax.ShapeExpr(n), relax.const(np.float32(2))),
    "shift windows": lambda bb, x, n: op.concat(
        [op.strided_slice(x, [3], [3], [1000]), op.strided_slice(x, [3], [0], [3])], 3),
    "rotate half": lambda bb, x, n: op.concat([
        op.negative(op.strided_slice(x, [3], [n[3] // 2], [1000])),
        op.strided_slice(x, [3], [0], [n[3] // 2])], 3),
    "cast": lambda bb, x, n: op.astype(x, "float16"),
    "one_hot": lambda bb, x, n: op.one_hot(
        op.astype(op.max(x, [3]), "int64"), relax.PrimValue(1), relax.PrimValue(0), 10, -1),
    "meshgrid": lambda bb, x, n: op.meshgrid(
        [op.max(x, [0, 1, 2]), op.max(x, [0, 1, 3])], "ij")[0],
}  # fmt: skip


def module(build: Build, shape: tuple[int, ...], symbolic: bool, dtype: str) -> tvm.IRModule:
    extents: list[Any] = [i64(n) for n in shape]
    if symbolic:
        extents = [tir.Var(f"d{n}", "int64") for n in range(len(shape))]
        extents[1] = i64(shape[1])
    x = relax.Var("x", relax.TensorStructInfo(extents, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            made = bb.emit_output(bb.emit(build(bb, x, extents)))
        bb.emit_func_output(made)
    return bb.get()


def arrays(found: Any) -> list[np.ndarray]:
    return [found.numpy()] if hasattr(found, "numpy") else [one.numpy() for one in found]


def main(words: list[str]) -> None:
    flags = [w for w in words if w.startswith("-") and not w.startswith("--")]
    dtype = next((w.split("=")[1] for w in words if w.startswith("--dtype=")), "float32")
    parts = [w for w in words if not w.startswith("-")]
    target = " ".join(["llvm", *flags])
    rng = np.random.default_rng(0)
    print(f"{target} {dtype}\n{'':24}{'shape':>18}{'open ns':>9}{'known ns':>9}{'ratio':>7}")
    for name, build in OPS.items():
        if parts and not any(part in name for part in parts):
            continue
        for shape in (PLANES, SMALL):
            data = (rng.standard_normal(shape) * 3).astype(dtype)
            runs = []
            try:
                for symbolic in (True, False):
                    made = tvm.compile(module(build, shape, symbolic, dtype), target)
                    run = VirtualMachine(made, tvm.cpu())["main"]
                    runs.append(functools.partial(run, tvm.runtime.tensor(data)))
                results = [arrays(run()) for run in runs]
            except Exception as err:  # one operator that fails must not hide the others
                print(f"{name:24}{type(err).__name__}: {str(err).splitlines()[0][:90]}")
                break
            for one, other in zip(*results):
                np.testing.assert_allclose(one, other, 1e-4, 1e-6, err_msg=name)
            best, until = [1e9, 1e9], time.perf_counter() + 0.3
            while time.perf_counter() < until:
                for n, run in enumerate(runs):
                    start = time.perf_counter()
                    run()
                    best[n] = min(best[n], time.perf_counter() - start)
            size = sum(one.size for one in results[0])
            ns = [1e9 * b / size for b in best]
            sizes = "x".join(map(str, shape))
            print(f"{name:24}{sizes:>18}{ns[0]:9.3f}{ns[1]:9.3f}{ns[0] / ns[1]:7.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
