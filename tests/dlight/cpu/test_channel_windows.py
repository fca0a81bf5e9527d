"""Windows over small planes of sizes that the call brings, with channels along vectors."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.dlight.cpu.test_sliding import random, windows
from tests.dlight.cpu.test_window import depthwise, pool
from tests.dlight.programs import HASWELL, SPR, built_here, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Fallback, channel_windows
from tvm.target import Target

FORM = "or channels along vectors"
CPUS = ["haswell", "znver4"]  # and those of the long run
OTHERS = ["x86-64-v2", "znver3", "skylake-avx512"]
# fewer elements than a vector, a row, a column, tiles that overlap, several strips
SIZES = [(1, 1), (1, 2), (3, 3), (2, 5), (5, 3), (7, 7), (13, 14), (1, 40), (40, 1), (56, 29)]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model finds turning free, so that it takes this form wherever there is room."""
    for name in ("TURN", "PER_TILE", "PER_STEP", "PER_IMAGE"):
        monkeypatch.setattr(channel_windows, name, 0)
    monkeypatch.setattr(channel_windows.ChannelWindows, "_cost", lambda self, size: 0.1)


def residual(channels: int, kernel: int, stride: int, pad: int, dilation: int) -> tir.PrimFunc:
    """A depthwise convolution with what a bias, a residual and a relu make of it."""
    n, h, w = (te.size_var(name, "int64") for name in "nhw")
    x = te.placeholder((n, channels, h, w), name="X")
    weights = te.placeholder((channels, 1, kernel, kernel), name="W")
    bias = te.placeholder((channels, 1, 1), name="bias")
    y = topi.nn.depthwise_conv2d_nchw(x, weights, stride, pad, dilation)
    other = te.placeholder(y.shape, name="other")
    total = topi.nn.relu(topi.add(topi.add(y, bias), other))
    return te.create_prim_func([x, weights, bias, other, total])


@pytest.mark.cpu
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilation", "cpu"),
    [
        *((3, 2, 1, 1, cpu) for cpu in CPUS), *(long(3, 2, 1, 1, cpu) for cpu in OTHERS),
        (5, 1, 2, 1, "haswell"), (3, 1, 2, 2, "znver4"), long(2, 3, 0, 1, "haswell"),
        long(7, 1, 3, 1, "haswell"), (7, 1, 3, 1, "znver4"),
    ],
)  # fmt: skip
def test_depthwise(kernel: int, stride: int, pad: int, dilation: int, cpu: str) -> None:
    run = built_here(residual(37, kernel, stride, pad, dilation), Fallback(), cpu, FORM)
    rng = np.random.default_rng(kernel)
    weights, bias = random(rng, 37, 1, kernel, kernel), random(rng, 37, 1, 1)
    for number, (height, width) in enumerate(SIZES):
        if min(height, width) + 2 * pad < (kernel - 1) * dilation + 1:
            continue
        x = random(rng, number % 3 + 1, 37, height, width)
        view = windows(x, kernel, stride, pad, dilation, 0.0)
        total = np.einsum("ncyxij,cij->ncyx", view, weights[:, 0]) + bias
        other = random(rng, *total.shape)
        out = tvm.runtime.empty(total.shape)
        run(*map(tvm.runtime.tensor, (x, weights, bias, other)), out)
        np.testing.assert_allclose(
            out.numpy(), np.maximum(total + other, 0), rtol=1e-4, atol=1e-4,
            err_msg=f"{x.shape}",
        )  # fmt: skip


@pytest.mark.cpu
@pytest.mark.usefixtures("always")
@pytest.mark.covering(1)
@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize(("kernel", "stride", "pad"), [(3, 2, 1), (2, 2, 0), (5, 1, 2)])
def test_largest_of_a_window(kernel: int, stride: int, pad: int, cpu: str) -> None:
    n, h, w = (te.size_var(name, "int64") for name in "nhw")
    run = built_here(pool((n, 20, h, w), "max", kernel, stride, pad), Fallback(), cpu, FORM)
    rng = np.random.default_rng(kernel)
    for height, width in SIZES:
        if min(height, width) + 2 * pad < kernel:
            continue
        x = random(rng, 2, 20, height, width) - 5
        expected = windows(x, kernel, stride, pad, 1, -np.inf).max((4, 5))
        out = tvm.runtime.empty(expected.shape)
        run(tvm.runtime.tensor(x), out)
        np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.cpu
@pytest.mark.parametrize(("shape", "kernel", "stride"), [
    ((1, 32, 14, 14), 5, 2), long((3, 32, 3, 5), 7, 1), ((1, 32, 56, 56), 3, 1),
    long((2, 32, 90, 80), 5, 1),
])  # fmt: skip
def test_the_call_decides(shape: tuple[int, ...], kernel: int, stride: int) -> None:
    """Large planes go by rows, small ones by channels: one function does both."""
    func = residual(32, kernel, stride, kernel // 2, 1)
    run = built_here(func, Fallback(), "skylake-avx512", FORM)
    rng = np.random.default_rng(kernel)
    weights, bias = random(rng, 32, 1, kernel, kernel), random(rng, 32, 1, 1)
    x = random(rng, *shape)
    view = windows(x, kernel, stride, kernel // 2, 1, 0.0)
    total = np.einsum("ncyxij,cij->ncyx", view, weights[:, 0]) + bias
    other, out = random(rng, *total.shape), tvm.runtime.empty(total.shape)
    run(*map(tvm.runtime.tensor, (x, weights, bias, other)), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(total + other, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
@pytest.mark.covering(1)
@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize(("shape", "kernel", "stride"), [
    ((3, 33, 3, 5), 7, 1), ((1, 33, 14, 14), 5, 2), ((1, 33, 28, 40), 3, 1), ((2, 33, 1, 1), 3, 1),
])  # fmt: skip
def test_known_sizes(shape: tuple[int, ...], kernel: int, stride: int, cpu: str) -> None:
    """The form is chosen while compiling, and there is no other."""
    with Target(f"llvm -mcpu={cpu} -num-cores=1"):
        func = depthwise(shape, kernel, stride, kernel // 2, 1, epilogue=True)
        made = tvm.dlight.ApplyDefaultSchedule(Fallback())(tvm.IRModule({"main": func}))
    if kernel > 3:
        assert "square" in made["main"].script()
        assert "copy[" not in made["main"].script()
    made["main"] = made["main"].without_attr("target")
    rng = np.random.default_rng(kernel)
    x, weights = random(rng, *shape), random(rng, 33, 1, kernel, kernel)
    bias = random(rng, 33, 1, 1)
    view = windows(x, kernel, stride, kernel // 2, 1, 0.0)
    expected = np.maximum(np.einsum("ncyxij,cij->ncyx", view, weights[:, 0]) + bias, 0)
    out = tvm.runtime.empty(expected.shape)
    tvm.compile(made, target="llvm")["main"](*map(tvm.runtime.tensor, (x, weights, bias)), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("target", [SPR, HASWELL])
def test_means_the_same(target: Target) -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    func = depthwise((n, 18, h, w), 3, 2, 1)
    rows, columns = func.buffer_map[func.params[-1]].shape[2:]
    for height, width in [(3, 2), (4, 9)]:
        sizes = {"n": 2, "h": height, "w": width, str(rows): -(-height // 2),
                 str(columns): -(-width // 2)}  # fmt: skip
        after = scheduled(Fallback(), func, target, sizes=sizes)
        assert FORM in str(after.attrs["schedule_reason"])


def _reason(*args: te.Tensor) -> str:
    mod = tvm.IRModule({"main": te.create_prim_func(list(args))})
    with SPR:
        made = tvm.dlight.ApplyDefaultSchedule(Fallback())(mod)
    return str(made["main"].attrs["schedule_reason"])


def test_only_a_border_that_adds_nothing_is_left_out() -> None:
    n, h, w = (te.size_var(name, "int64") for name in "nhw")
    x = te.placeholder((n, 32, h, w), name="X")
    weights = te.placeholder((32, 1, 3, 3), name="W")
    for value, taken in ((0.0, True), (1.0, False)):
        padded = topi.nn.pad(x, [0, 0, 1, 1], [0, 0, 1, 1], pad_value=value)
        y = topi.nn.depthwise_conv2d_nchw(padded, weights, 1, 0, 1)
        assert (FORM in _reason(x, weights, y)) is taken


def test_few_channels_go_by_rows() -> None:
    n, h, w = (te.size_var(name, "int64") for name in "nhw")
    for channels, taken in ((15, False), (16, True)):
        x = te.placeholder((n, channels, h, w), name="X")
        weights = te.placeholder((channels, 1, 3, 3), name="W")
        y = topi.nn.depthwise_conv2d_nchw(x, weights, 1, 1, 1)
        assert (FORM in _reason(x, weights, y)) is taken
