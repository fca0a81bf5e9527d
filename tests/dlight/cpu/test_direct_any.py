"""Convolutions over planes of open sizes, with the output channels along vectors."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.dlight.cpu.test_sliding import random, windows
from tests.dlight.programs import HASWELL, SPR, built_here, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D
from tvm.target import Target

FORM = "rows of planes of any size in the fewest steps"
CPUS = ["haswell", "znver4"]  # and those of the long run
OTHERS = ["x86-64-v2", "znver3", "skylake-avx512"]
# one element, less than a tile, tiles that overlap, several strips, rows in several parts
SIZES = [(1, 1), (1, 2), (3, 3), (2, 5), (5, 3), (7, 7), (13, 14), (2, 60), (60, 1), (56, 29),
         (3, 2100), (1, 4500)]  # fmt: skip


def conv(
    channels: int, outs: int, kernel: int, stride: int, pad: int, dilation: int = 1
) -> tir.PrimFunc:
    """A convolution whose weights may be packed, with a bias, a residual and a relu."""
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n, channels, h, w), name="X")
    weights = te.placeholder((outs, channels, kernel, kernel), name="W")
    bias = te.placeholder((outs, 1, 1), name="bias")
    y = topi.nn.conv2d_nchw(x, weights, stride, pad, dilation)
    other = te.placeholder(y.shape, name="other")
    total = topi.nn.relu(topi.add(topi.add(y, bias), other))
    return te.create_prim_func([x, weights, bias, other, total]).with_attr(
        "layout_free_buffers", [1]
    )


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("outs", "kernel", "stride", "pad", "dilation", "cpu"),
    [
        *((32, 3, 2, 1, 1, cpu) for cpu in CPUS), *(long(32, 3, 2, 1, 1, cpu) for cpu in OTHERS),
        (48, 3, 1, 1, 1, "haswell"), long(48, 3, 1, 1, 1, "znver4"),
        long(16, 5, 1, 2, 1, "haswell"),
        (16, 7, 2, 3, 1, "znver4"), (32, 3, 1, 2, 2, "znver4"), (32, 1, 2, 0, 1, "haswell"),
        long(32, 2, 3, 0, 1, "znver4"),
    ],
)  # fmt: skip
def test_values(
    outs: int, kernel: int, stride: int, pad: int, dilation: int, cpu: str
) -> None:
    run = built_here(conv(9, outs, kernel, stride, pad, dilation), Conv2D(), cpu, FORM)
    rng = np.random.default_rng(kernel)
    weights, bias = random(rng, outs, 9, kernel, kernel), random(rng, outs, 1, 1)
    for number, (height, width) in enumerate(SIZES):
        if min(height, width) + 2 * pad < (kernel - 1) * dilation + 1:
            continue
        x = random(rng, number % 3 + 1, 9, height, width)
        view = windows(x, kernel, stride, pad, dilation, 0.0)
        total = np.einsum("ncyxij,ocij->noyx", view, weights, optimize=True) + bias
        other = random(rng, *total.shape)
        out = tvm.runtime.empty(total.shape)
        run(*map(tvm.runtime.tensor, (x, weights, bias, other)), out)
        np.testing.assert_allclose(
            out.numpy(), np.maximum(total + other, 0), rtol=1e-4, atol=1e-3,
            err_msg=f"{x.shape}",
        )  # fmt: skip


@pytest.mark.cpu
def test_many_channels_of_wide_rows() -> None:
    """Three rows of all channels do not fit the strip: they are taken in parts."""
    run = built_here(conv(160, 16, 3, 2, 1), Conv2D(), "haswell", FORM)
    rng = np.random.default_rng(5)
    weights, bias = random(rng, 16, 160, 3, 3), random(rng, 16, 1, 1)
    x = random(rng, 1, 160, 5, 203)
    total = np.einsum("ncyxij,ocij->noyx", windows(x, 3, 2, 1, 1, 0.0), weights,
                      optimize=True) + bias  # fmt: skip
    other, out = random(rng, *total.shape), tvm.runtime.empty(total.shape)
    run(*map(tvm.runtime.tensor, (x, weights, bias, other)), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(total + other, 0), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("target", [SPR, HASWELL])
def test_means_the_same(target: Target) -> None:
    func = conv(2, 16, 3, 2, 1)
    rows, columns = func.buffer_map[func.params[-1]].shape[2:]
    sizes = {"n": 2, "h": 3, "w": 5, str(rows): 2, str(columns): 3}
    after = scheduled(Conv2D(), func, target, sizes=sizes)
    assert FORM in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize(("outs", "free", "taken"), [(16, True, True), (24, True, False),
                                                      (16, False, False)])  # fmt: skip
def test_others_go_by_panels(outs: int, free: bool, taken: bool) -> None:
    """Filters that are no whole vectors, and weights that may not be packed."""
    func = conv(4, outs, 3, 2, 1)
    func = func if free else func.without_attr("layout_free_buffers")
    with SPR:
        made = tvm.dlight.ApplyDefaultSchedule(Conv2D())(tvm.IRModule({"main": func}))
    assert (FORM in str(made["main"].attrs["schedule_reason"])) is taken
