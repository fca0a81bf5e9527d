"""Kernels of symbolic extents at many sizes, none and one included, beside those of numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import dlight, relax, te, tir
from tvm.relax.op import nn

pytestmark = pytest.mark.cpu

WANTED = {"x86-64-v2": "sse4_2", "haswell": "avx2", "znver4": "avx512_bf16"}
CPU_INFO = Path("/proc/cpuinfo")
FLAGS = CPU_INFO.read_text().split() if CPU_INFO.exists() else []
CPUS = [name for name, flag in WANTED.items() if flag in FLAGS]  # what this machine can run
Make = Callable[[relax.Var], relax.Expr]
# (batch, height, width): rows and columns beside, below and above those of tiles and vectors
PLANES = [
    (1, 7, 7), (2, 1, 1), (1, 0, 5), (0, 3, 4), (1, 4, 16), (1, 9, 17), (2, 5, 33), (1, 8, 64),
]  # fmt: skip
ROWS = [(1, 1), (3, 0), (0, 4), (2, 7), (1, 16), (4, 31), (2, 32), (3, 33), (1, 100), (5, 257)]


def compiled(shape: Sequence[int | str], make: Make, cpu: str) -> Callable[..., np.ndarray]:
    """The function of one tensor whose extents may be symbols."""
    known = {d: tvm.tir.Var(d, "int64") for d in shape if isinstance(d, str)}
    bb = relax.BlockBuilder()
    info = relax.TensorStructInfo([known.get(d, d) for d in shape], "float32")  # type: ignore[call-overload]
    x = relax.Var("x", info)
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(make(x))
        bb.emit_func_output(out)
    machine = relax.VirtualMachine(tvm.compile(bb.get(), f"llvm -mcpu={cpu}"), tvm.cpu())
    return lambda data: machine["main"](tvm.runtime.tensor(data)).numpy()


def f32(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def conv(x: np.ndarray, w: np.ndarray, stride: int, pad: int, groups: int) -> np.ndarray:
    wide = np.pad(x.astype("float64"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    kernel, per, each = w.shape[2], w.shape[1], w.shape[0] // groups
    views = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (2, 3))
    views = views[:, :, ::stride, ::stride]
    parts = [
        np.einsum("ncyxij,ocij->noyx", views[:, g * per : (g + 1) * per],
                  w[g * each : (g + 1) * each], optimize=True)
        for g in range(groups)
    ]  # fmt: skip
    return np.concatenate(parts, 1)


@pytest.fixture(params=CPUS)
def cpu(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "stride", "groups"),
    [(6, 6, 3, 1, 6), (4, 4, 3, 2, 4), (3, 3, 5, 1, 3), (8, 12, 3, 1, 4), (4, 8, 3, 2, 4),
     (6, 4, 1, 1, 2), (5, 9, 3, 1, 1), (4, 34, 1, 1, 1)],
)  # fmt: skip
def test_convolutions(
    channels: int, filters: int, kernel: int, stride: int, groups: int, cpu: str
) -> None:
    weight = f32(filters, channels // groups, kernel, kernel) / kernel
    pad = kernel // 2

    def make(x: relax.Var) -> relax.Expr:
        found = nn.conv2d(x, relax.const(weight), strides=stride, padding=pad, groups=groups)
        return nn.relu(relax.op.add(found, relax.const(f32(1, filters, 1, 1, seed=1))))

    run = compiled(["n", channels, "h", "w"], make, cpu)
    for n, h, w in PLANES:
        if min(h, w) + 2 * pad < kernel:
            continue
        data = f32(n, channels, h, w, seed=2)
        wanted = conv(data, weight, stride, pad, groups) + f32(1, filters, 1, 1, seed=1)
        np.testing.assert_allclose(run(data), np.maximum(wanted, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("channels", "filters", "pad"), [(24, 21, 1), (20, 64, 0)])
def test_convolutions_in_tiles(channels: int, filters: int, pad: int, cpu: str) -> None:
    """Those that are Winograd's, with all that may follow them."""
    weight = f32(filters, channels, 3, 3) / 9
    scale = f32(1, filters, 1, 1, seed=1)

    def make(x: relax.Var) -> relax.Expr:
        found = nn.conv2d(x, relax.const(weight), padding=pad)
        found = relax.op.add(found, relax.const(scale))
        return relax.op.multiply(found, relax.op.sigmoid(found))

    run = compiled(["n", channels, "h", "w"], make, cpu)
    for n, h, w in [*PLANES, (3, 6, 5), (1, 13, 13), (1, 3, 3), (1, 4, 200)]:
        if min(h, w) + 2 * pad < 3:
            continue
        data = f32(n, channels, h, w, seed=2)
        wanted = conv(data, weight, 1, pad, 1) + scale
        wanted /= 1 + np.exp(-wanted)
        np.testing.assert_allclose(run(data), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.covering(1)
@pytest.mark.parametrize("stride", [1, 2])
def test_largest_of_windows(stride: int, cpu: str) -> None:
    run = compiled(
        ["n", 3, "h", "w"], lambda x: nn.max_pool2d(x, (3, 3), (stride, stride), (1, 1)), cpu
    )
    for n, h, w in PLANES:
        if min(h, w) < 1:
            continue
        data = f32(n, 3, h, w)
        wide = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        views = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
        wanted = views[:, :, ::stride, ::stride].max((-2, -1))
        np.testing.assert_array_equal(run(data), wanted)


def test_passes_over_rows(cpu: str) -> None:
    run = compiled(["n", "m"], lambda x: nn.softmax(x, -1), cpu)
    for n, m in ROWS:
        data = f32(n, m) * 4
        if data.size == 0:
            assert run(data).shape == (n, m)
            continue
        power = np.exp(data.astype("float64") - data.max(-1, keepdims=True))
        wanted = power / power.sum(-1, keepdims=True)
        np.testing.assert_allclose(run(data), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("columns", "steps"), [(6, 3), (65, 20), (130, 33)])
def test_products_of_rows(columns: int, steps: int, cpu: str) -> None:
    weight = f32(steps, columns)
    run = compiled(
        ["n", "m", steps], lambda x: relax.op.matmul(x, relax.const(weight)), cpu
    )
    for n, m in ROWS:
        data = f32(n, m, steps, seed=3)
        wanted = data.astype("float64") @ weight
        np.testing.assert_allclose(run(data), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.covering(1)
@pytest.mark.parametrize("columns", [7, 96])
def test_products_of_planes_of_rows(columns: int, cpu: str) -> None:
    """All of (n, h, w) are the rows of one matrix, also with what follows the product."""
    weight, scale = f32(20, columns) / 4, f32(columns, seed=1)

    def make(x: relax.Var) -> relax.Expr:
        found = relax.op.add(relax.op.matmul(x, relax.const(weight)), relax.const(scale))
        found = relax.op.multiply(nn.gelu(found), relax.const(scale))
        return relax.op.add(found, found)

    run = compiled(["n", "h", "w", 20], make, cpu)
    for n, h, w in PLANES:
        data = f32(n, h, w, 20, seed=3)
        sums = data.astype("float64") @ weight + scale
        erf = np.vectorize(math.erf, otypes=["float64"])(sums / math.sqrt(2))
        wanted = sums * (1 + erf) * scale
        np.testing.assert_allclose(run(data), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_rows_of_many_dimensions_are_one_matrix(count: int) -> None:
    """However many sizes are unknown, weights are packed beforehand."""
    dims = [tir.Var(f"d{i}", "int64") for i in range(count)]
    steps, columns = tir.const(32, "int64"), tir.const(64, "int64")
    a = te.placeholder((*dims, steps), name="a")
    b = te.placeholder((steps, columns), name="b")
    k = te.reduce_axis((0, steps), name="k")
    c = te.compute((*dims, columns), lambda *i: te.sum(a(*i[:-1], k) * b(k, i[-1]), axis=[k]))
    func = te.create_prim_func([a, b, c]).with_attr("layout_free_buffers", [1])
    with tvm.target.Target("llvm -mcpu=haswell"):
        mod = tvm.IRModule({"main": func})
        made = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)["main"]
    assert "columns packed beforehand" in made.attrs["schedule_reason"]
