"""Speeds of compiled operators and networks on an NVIDIA GPU, beside torch's and beside floors.

`python -m benchmarks.device_cuda` runs it; `--make NAME folder` compiles one case ahead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tvm
from tests.runtime.device_api import networks, programs
from tvm import relax
from tvm.relax import op as o
from tvm.runtime.device_api import kinds
from tvm.target import Target

Shape = tuple[int, ...]


class Speed(NamedTuple):
    """A graph to be timed: its inputs, what torch does, and what no kernel can do without."""

    make: Callable[..., Any]
    inputs: list[tuple[Shape, str]]
    torch: Callable[..., Any]
    nbytes: float
    flops: float = 0.0
    unit: str = "float32"  # whose rate is the floor of the sums


def _torch() -> Any:
    import torch

    return torch


def _product(m: int, n: int, k: int, dtype: str, out: str | None = None, batch: int = 0) -> Speed:
    lead = (batch,) if batch else ()
    size = np.dtype(dtype if dtype != "bfloat16" else "float16").itemsize
    count = max(batch, 1)
    return Speed(
        lambda a, b: o.matmul(a, b, out_dtype=out),
        [((*lead, m, k), dtype), ((*lead, k, n), dtype)],
        lambda a, b: _torch().matmul(a, b),
        count * size * (m * k + k * n + m * n), count * 2.0 * m * n * k, dtype,
    )  # fmt: skip


def _rows(make: Callable[..., Any], shape: Shape, torch: Callable[..., Any], dtype: str = "float32",
          passes: int = 2) -> Speed:  # fmt: skip
    return Speed(make, [(shape, dtype)], torch, passes * np.dtype(dtype).itemsize * np.prod(shape))


def _f(name: str) -> Any:
    return getattr(_torch().nn.functional, name)


SPEEDS: dict[str, Speed] = {
    "add 64 M f32": Speed(o.add, [((1 << 26,), "float32")] * 2, lambda a, b: a + b, 12 << 26),
    "gelu 64 M f16": _rows(o.nn.gelu, (1 << 26,), lambda x: _f("gelu")(x), "float16"),
    "softmax 8192x4096 f32": _rows(lambda x: o.nn.softmax(x, -1), (8192, 4096),
                                   lambda x: x.softmax(-1)),
    "softmax 512x50257 f32": _rows(lambda x: o.nn.softmax(x, -1), (512, 50257),
                                   lambda x: x.softmax(-1)),
    "layer_norm 8192x4096 f32": Speed(
        lambda x, g, b: o.nn.layer_norm(x, g, b, axes=[-1]),
        [((8192, 4096), "float32"), ((4096,), "float32"), ((4096,), "float32")],
        lambda x, g, b: _f("layer_norm")(x, (4096,), g, b), 8.0 * 8192 * 4096),
    "rms_norm 8192x4096 f16": Speed(
        lambda x, g: o.nn.rms_norm(x, g, axes=[-1]), [((8192, 4096), "float16"),
                                                     ((4096,), "float16")],
        lambda x, g: _f("rms_norm")(x, (4096,), g), 4.0 * 8192 * 4096),
    "sum of rows 8192x8192 f32": _rows(lambda x: o.sum(x, [1]), (8192, 8192), lambda x: x.sum(1),
                                       passes=1),
    "sum of columns 8192x8192 f32": _rows(lambda x: o.sum(x, [0]), (8192, 8192),
                                          lambda x: x.sum(0), passes=1),
    "sum of all 64 M f32": _rows(o.sum, (1 << 26,), lambda x: x.sum(), passes=1),
    "argmax 8192x8192 f32": _rows(lambda x: o.argmax(x, 1), (8192, 8192), lambda x: x.argmax(1),
                                  passes=1),
    "transpose 8192x8192 f32": _rows(lambda x: o.permute_dims(x, [1, 0]), (8192, 8192),
                                     lambda x: x.t().contiguous()),
    "cumsum 4096x16384 f32": _rows(lambda x: o.cumsum(x, 1), (4096, 16384), lambda x: x.cumsum(1)),
    "sort 256x16384 f32": _rows(lambda x: o.sort(x, 1), (256, 16384), lambda x: x.sort(1)[0]),
    "take 65536 of 50257x1024 f16": Speed(
        lambda w, i: o.take(w, i, axis=0), [((50257, 1024), "float16"), ((65536,), "int32")],
        lambda w, i: w[i], 4.0 * 65536 * 1024),
    "gemv 1x8192x28672 f16": _product(1, 28672, 8192, "float16"),
    "gemv 1x8192x28672 f32": _product(1, 28672, 8192, "float32"),
    "matmul 16x8192x28672 f16": _product(16, 28672, 8192, "float16"),
    "matmul 2048 f32": _product(2048, 2048, 2048, "float32"),
    "matmul 4096 f32": _product(4096, 4096, 4096, "float32"),
    "matmul 2048 f16": _product(2048, 2048, 2048, "float16"),
    "matmul 4096 f16": _product(4096, 4096, 4096, "float16"),
    "matmul 8192 f16": _product(8192, 8192, 8192, "float16"),
    "matmul 4096 f16 to f32": _product(4096, 4096, 4096, "float16", "float32"),
    "matmul 4096 bf16": _product(4096, 4096, 4096, "bfloat16"),
    "matmul 4096 f64": _product(4096, 4096, 4096, "float64"),
    "batch_matmul 96x512x64x512 f16": _product(512, 512, 64, "float16", batch=96),
    "conv2d 16x64x56x56 3x3 f32": Speed(
        lambda x, w: o.nn.conv2d(x, w, padding=1), [((16, 64, 56, 56), "float32"),
                                                    ((64, 64, 3, 3), "float32")],
        lambda x, w: _f("conv2d")(x, w, padding=1), 8.0 * 16 * 64 * 56 * 56,
        2.0 * 16 * 64 * 64 * 9 * 56 * 56),
    "conv2d 16x256x14x14 3x3 f16": Speed(
        lambda x, w: o.nn.conv2d(x, w, padding=1), [((16, 256, 14, 14), "float16"),
                                                    ((256, 256, 3, 3), "float16")],
        lambda x, w: _f("conv2d")(x, w, padding=1), 4.0 * 16 * 256 * 14 * 14,
        2.0 * 16 * 256 * 256 * 9 * 14 * 14, "float16"),
    "attention 4x1024x16x64 f16": Speed(
        o.nn.attention, [((4, 1024, 16, 64), "float16")] * 3,
        lambda q, k, v: _f("scaled_dot_product_attention")(*(x.transpose(1, 2) for x in (q, k, v))),
        8.0 * 4 * 1024 * 16 * 64, 4.0 * 4 * 16 * 1024 * 1024 * 64, "float16"),
}  # fmt: skip

NETWORKS: dict[str, Callable[[], tuple[tvm.IRModule, Any]]] = {
    "residual network 224 f32": lambda: networks.residual(224),
    "transformer layer 8x128, 12x64 f32": lambda: networks.transformer(128, 12, 64, 8),
    "transformer layer 8x128, 12x64 f16": lambda: networks.transformer(128, 12, 64, 8, "float16"),
    "lstm 32 steps 16x512 f32": lambda: networks.recurrent(32, 16, 512),
}


def api() -> Any:
    return kinds.api_of("cuda")


def target() -> Target:
    version = tvm.cuda(0).compute_version.replace(".", "") if tvm.cuda(0).exist else "90"
    return Target({"kind": "cuda", "arch": f"sm_{version}"}, "llvm")


def module_of(name: str) -> tvm.IRModule:
    """The graph of a case."""
    if name in NETWORKS:
        return NETWORKS[name]()[0]
    one = SPEEDS[name]
    given = [relax.Var(f"x{i}", relax.TensorStructInfo(shape, dtype))
             for i, (shape, dtype) in enumerate(one.inputs)]  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", given):
        with bb.dataflow():
            out = bb.emit_output(bb.normalize(one.make(*given)))
        bb.emit_func_output(out)
    return bb.get()


def _file(folder: Path, name: str) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in name) + ".so")


def make(name: str, folder: Path) -> None:
    """Compile a case into a file."""
    tvm.compile(module_of(name), target()).export_library(str(_file(folder, name)))


def machine(name: str, folder: Path) -> relax.VirtualMachine:
    """The program of a case on the device."""
    made = _file(folder, name)
    built: Any = (tvm.runtime.load_module(str(made)) if made.exists()
                  else tvm.compile(module_of(name), target()))  # fmt: skip
    return relax.VirtualMachine(built, tvm.cuda(0))


def ours(vm: relax.VirtualMachine, given: list[Any]) -> tuple[float, Any]:
    """Milliseconds of a run by the device's clock, of a recorded graph of runs; its result."""
    result = vm["main"](*given)
    tvm.cuda(0).sync()
    start = time.perf_counter()
    vm["main"](*given)
    tvm.cuda(0).sync()
    count = int(min(max(0.02 / max(time.perf_counter() - start, 1e-5), 1), 20))
    _, repeat = api().record(0, lambda: [vm["main"](*given) for _ in range(count)])
    repeat()
    tvm.cuda(0).sync()
    times = [api().seconds(0, repeat) / count for _ in range(7)]
    return statistics.median(times) * 1e3, result


def theirs(func: Callable[..., Any], given: list[Any]) -> tuple[float, Any]:
    """The same of torch."""
    torch = _torch()
    result = func(*given)
    torch.cuda.synchronize()
    start = time.perf_counter()
    func(*given)
    torch.cuda.synchronize()
    count = int(min(max(0.02 / max(time.perf_counter() - start, 1e-5), 1), 20))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            func(*given)
    graph.replay()
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count)
    return statistics.median(times), result


def _inputs(one: Speed) -> list[Any]:
    torch = _torch()
    generator = torch.Generator("cuda").manual_seed(1)
    found = []
    for shape, dtype in one.inputs:
        if dtype.startswith("int"):
            found.append(torch.randint(0, 50257, shape, generator=generator, device="cuda",
                                       dtype=getattr(torch, dtype)))  # fmt: skip
        else:
            x = torch.randn(shape, generator=generator, device="cuda")
            found.append(x.to(getattr(torch, dtype)))
    return found


def _agree(found: Any, wanted: Any, unit: str) -> str:
    torch = _torch()
    a, b = torch.from_dlpack(found).double(), wanted.double()
    if a.shape != b.shape:
        b = b.transpose(1, 2)
    error = float((a - b).norm() / b.norm())
    return "" if error < (2e-2 if unit != "float32" else 2e-3) else f" WRONG {error:.2g}"


def rates() -> dict[str, float]:
    """What this device reaches: bytes a second, and sums a second by data type."""
    torch = _torch()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    x = torch.randn(1 << 28, device="cuda")
    y = torch.empty_like(x)
    found = {"bytes": 8 * x.numel() / theirs(lambda a: torch.neg(a, out=y), [x])[0] * 1e3}
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        n = 8192 if dtype != "float64" else 4096
        a, b = (torch.randn(n, n, device="cuda").to(getattr(torch, dtype)) for _ in range(2))
        found[dtype] = 2.0 * n**3 / theirs(torch.matmul, [a, b])[0] * 1e3
    return found


def say(text: str) -> None:
    print(json.dumps(["speed", text]), flush=True)


def measure(seconds: float, only: str, folder: Path) -> None:
    """Print a row a case, as lines of JSON, until the time is up."""
    end = time.monotonic() + seconds
    reached = rates()
    say(f"{tvm.cuda(0).device_name}: x -> -x {reached['bytes'] / 1e12:.2f} TB/s, products of 8192 "
        + ", ".join(f"{k} {v / 1e12:.1f}" for k, v in reached.items() if k != "bytes")
        + " TFLOP/s (torch)")  # fmt: skip
    say(_overhead())
    say("| case | ms | torch ms | torch / ours | floor ms | floor / ours |")
    for name, one in SPEEDS.items():
        if only not in name:
            continue
        if time.monotonic() > end:
            say(f"no time left for {name}")
            continue
        try:
            given = _inputs(one)
            vm = machine(name, folder)
            own, result = ours(vm, [tvm.runtime.from_dlpack(x) for x in given])
            other, wanted = theirs(one.torch, given)
            floor = max(one.nbytes / reached["bytes"],
                        one.flops / reached.get(one.unit, 1e30)) * 1e3  # fmt: skip
            say(f"| {name} | {own:.4f} | {other:.4f} | {other / own:.2f} | {floor:.4f} | "
                f"{floor / own:.2f} |{_agree(result, wanted, one.unit)}")  # fmt: skip
        except Exception as err:
            traceback.print_exc()
            say(f"| {name} | FAILED {type(err).__name__}: {' '.join(str(err).split())[:400]}")
            if "CUDA_ERROR" in str(err):
                say("the device faulted: the rest is not measured")
                return
        _torch().cuda.empty_cache()
    for name, net in NETWORKS.items():
        if only in name and time.monotonic() < end:
            try:
                vm = machine(name, folder)
                given = [tvm.runtime.tensor(net()[1], tvm.cuda(0))]
                own, _ = ours(vm, given)
                tvm.cuda(0).sync()
                start = time.perf_counter()
                for _ in range(20):
                    vm["main"](*given)
                tvm.cuda(0).sync()
                plain = (time.perf_counter() - start) / 20 * 1e3
                say(f"| {name} | {own:.4f} | run by run, {plain:.4f} ms |")
            except Exception as err:
                traceback.print_exc()
                say(f"| {name} | FAILED {type(err).__name__}: {' '.join(str(err).split())[:400]}")


def _overhead() -> str:
    """What a launch costs on the host, by the driver alone, by a function and by the machine."""
    x = programs.floats(64)
    built = tvm.compile(programs.module(lambda v: o.add(v, v), x), target())
    vm = relax.VirtualMachine(built, tvm.cuda(0))
    given = tvm.runtime.tensor(x, tvm.cuda(0))
    run = vm["main"]

    def spent(work: Callable[[], Any], count: int = 2000) -> float:
        for _ in range(100):
            work()
        tvm.cuda(0).sync()
        start = time.perf_counter()
        for _ in range(count):
            work()
        taken = (time.perf_counter() - start) / count
        tvm.cuda(0).sync()
        return taken * 1e6

    whole = spent(lambda: run(given))
    torch = _torch()
    y = torch.randn(64, device="cuda")
    other = spent(lambda: y + y)
    return f"a graph of one launch: {whole:.1f} us on the host (torch: {other:.1f} us)"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make", nargs=2)
    given = parser.parse_args()
    make(given.make[0], Path(given.make[1]))
    print(json.dumps(["ok", f"make {given.make[0]}", "", 0.0]))
