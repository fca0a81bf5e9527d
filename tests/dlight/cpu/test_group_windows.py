"""Convolutions in groups over planes of open sizes: strips of padded rows as one run."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.dlight.cpu.test_direct_any import CPUS, OTHERS
from tests.dlight.cpu.test_sliding import random, windows
from tests.dlight.programs import HASWELL, SPR, built_here, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D
from tvm.target import Target

FORM = "each of them one run"
# one element, rows shorter than a vector and longer, several strips, rows in several parts
SIZES = [(1, 1), (1, 2), (3, 3), (2, 5), (7, 7), (13, 14), (60, 1), (56, 29), (3, 2100)]


def conv(
    channels: int, outs: int, groups: int, kernel: int, stride: int, pad: int, dilation: int = 1
) -> tir.PrimFunc:
    """A convolution in groups, with a bias, a residual and a relu."""
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n, channels, h, w), name="X")
    weights = te.placeholder((outs, channels // groups, kernel, kernel), name="W")
    bias = te.placeholder((outs, 1, 1), name="bias")
    y = topi.nn.group_conv2d_nchw(x, weights, stride, pad, dilation, groups)
    other = te.placeholder(y.shape, name="other")
    total = topi.nn.relu(topi.add(topi.add(y, bias), other))
    return te.create_prim_func([x, weights, bias, other, total])


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("channels", "outs", "groups", "kernel", "stride", "pad", "dilation", "cpu"),
    [
        *((16, 16, 2, 3, stride, 1, 1, cpu) for cpu in CPUS for stride in (1, 2)),
        *(long(16, 16, 2, 3, stride, 1, 1, cpu) for cpu in OTHERS for stride in (1, 2)),
        (6, 15, 3, 3, 1, 1, 1, "znver4"), (6, 15, 3, 3, 1, 0, 1, "haswell"),
        (8, 8, 2, 3, 1, 2, 2, "haswell"), (8, 8, 2, 5, 1, 2, 1, "znver4"),
        (8, 8, 2, 3, 3, 0, 1, "haswell"), (4, 8, 4, 3, 1, 1, 1, "znver4"),
        (90, 60, 2, 3, 2, 1, 1, "znver4"),
    ],
)  # fmt: skip
def test_values(
    channels: int, outs: int, groups: int, kernel: int, stride: int, pad: int, dilation: int,
    cpu: str,
) -> None:  # fmt: skip
    func = conv(channels, outs, groups, kernel, stride, pad, dilation)
    run = built_here(func, Conv2D(), cpu, FORM)
    rng = np.random.default_rng(kernel)
    each = channels // groups
    weights, bias = random(rng, outs, each, kernel, kernel), random(rng, outs, 1, 1)
    for number, (height, width) in enumerate(SIZES):
        if min(height, width) + 2 * pad < (kernel - 1) * dilation + 1:
            continue
        x = random(rng, number % 3 + 1, channels, height, width)
        view = windows(x, kernel, stride, pad, dilation, 0.0)
        parts = [
            np.einsum("ncyxij,ocij->noyx", view[:, g * each : (g + 1) * each],
                      weights[g * outs // groups : (g + 1) * outs // groups], optimize=True)
            for g in range(groups)
        ]  # fmt: skip
        total = np.concatenate(parts, 1) + bias
        other = random(rng, *total.shape)
        out = tvm.runtime.empty(total.shape)
        run(*map(tvm.runtime.tensor, (x, weights, bias, other)), out)
        np.testing.assert_allclose(
            out.numpy(), np.maximum(total + other, 0), rtol=1e-4, atol=1e-3,
            err_msg=f"{x.shape}",
        )  # fmt: skip


@pytest.mark.parametrize(("target", "stride"), [(SPR, 1), (HASWELL, 2)])
def test_means_the_same(target: Target, stride: int) -> None:
    func = conv(4, 4, 2, 3, stride, 1)
    rows, columns = func.buffer_map[func.params[-1]].shape[2:]
    sizes = {"n": 2, "h": 3, "w": 5, str(rows): -(-3 // stride), str(columns): -(-5 // stride)}
    after = scheduled(Conv2D(), func, target, sizes={**sizes, "h": 3, "w": 5})
    assert FORM in str(after.attrs["schedule_reason"])


def test_long_windows_with_a_step_go_by_panels() -> None:
    """All of the window would stand one after another."""
    with SPR:
        made = tvm.dlight.ApplyDefaultSchedule(Conv2D())(
            tvm.IRModule({"main": conv(8, 8, 2, 7, 2, 3)})
        )
    assert FORM not in str(made["main"].attrs["schedule_reason"])
