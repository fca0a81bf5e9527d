"""Products of channels over runs of open length, with the output channels along vectors."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.dlight.cpu.test_direct_any import CPUS, OTHERS, conv
from tests.dlight.cpu.test_sliding import random
from tests.dlight.programs import HASWELL, SPR, built_here, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D, run_any
from tvm.target import Target
from tvm.tir.analysis.kernel_form import kernel_form

FORM = "runs of any length in the fewest steps"
# of images, height and width: one place, some images at a time, a part of one, panels
SIZES = [(1, 1, 1), (3, 1, 2), (5, 3, 5), (1, 7, 7), (2, 13, 14), (1, 1, 61), (11, 6, 8),
         (2, 30, 29), (1, 0, 4), (0, 3, 3)]  # fmt: skip


def along(channels: int, outs: int, index: str = "int32") -> tir.PrimFunc:
    """One of one dimension, without anything behind it."""
    n, w = te.size_var("n", index), te.size_var("w", index)
    x = te.placeholder((n, channels, w), name="X")
    weights = te.placeholder((outs, channels, 1), name="W")
    y = topi.nn.conv1d_ncw(x, weights, 1, 0, 1)
    func = te.create_prim_func([x, weights, y], index_dtype_override=index)
    return func.with_attr("layout_free_buffers", [1])


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("channels", "outs", "cpu"),
    [*((40, 32, cpu) for cpu in CPUS), *(long(40, 32, cpu) for cpu in OTHERS),
     (33, 48, "haswell"), long(33, 48, "znver4"), (300, 16, "haswell"), (700, 80, "znver4")],
)  # fmt: skip
def test_values(channels: int, outs: int, cpu: str) -> None:
    run = built_here(conv(channels, outs, 1, 1, 0), Conv2D(), cpu, FORM)
    rng = np.random.default_rng(channels)
    weights, bias = random(rng, outs, channels, 1, 1), random(rng, outs, 1, 1)
    for images, height, width in SIZES:
        x = random(rng, images, channels, height, width)
        total = np.einsum("ncyx,oc->noyx", x, weights[:, :, 0, 0], optimize=True) + bias
        other = random(rng, *total.shape)
        out = tvm.runtime.empty(total.shape)
        run(*map(tvm.runtime.tensor, (x, weights, bias, other)), out)
        np.testing.assert_allclose(
            out.numpy(), np.maximum(total + other, 0), rtol=1e-4, atol=2e-3,
            err_msg=f"{x.shape}",
        )  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", ["haswell", "znver4"])
def test_values_of_one_dimension(cpu: str) -> None:
    run = built_here(along(40, 32), Conv2D(), cpu, FORM)
    rng = np.random.default_rng(1)
    weights = random(rng, 32, 40, 1)
    for images, width in [(1, 1), (3, 5), (2, 100), (1, 3000)]:
        x = random(rng, images, 40, width)
        out = tvm.runtime.empty((images, 32, width))
        run(tvm.runtime.tensor(x), tvm.runtime.tensor(weights), out)
        wanted = np.einsum("ncx,oc->nox", x, weights[:, :, 0])
        np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("target", [SPR, HASWELL])
def test_means_the_same(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_any, "LEAST", 2)  # which is quicker to interpret
    after = scheduled(Conv2D(), conv(2, 16, 1, 1, 0), target, sizes={"n": 2, "h": 3, "w": 5})
    assert FORM in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize(
    ("channels", "outs", "free", "taken"),
    [(32, 16, True, True), (32, 24, True, False), (32, 16, False, False), (31, 16, True, False)],
)
def test_others_go_by_panels(channels: int, outs: int, free: bool, taken: bool) -> None:
    """Filters that are no whole vectors, weights that may not be packed, short sums."""
    func = conv(channels, outs, 1, 1, 0)
    func = func if free else func.without_attr("layout_free_buffers")
    with SPR:
        made = tvm.dlight.ApplyDefaultSchedule(Conv2D())(tvm.IRModule({"main": func}))
    assert (FORM in str(made["main"].attrs["schedule_reason"])) is taken


def test_numbers_of_filters_are_sizes() -> None:
    """Kernels that differ in them are one: which panel is fetched next is said outside of loops."""
    assert unlike(along(240, 240, "int64"), along(240, 480, "int64")) == []


def test_numbers_of_channels_are_sizes() -> None:
    """But for weights as they came. What little the turned bytes count for many is a factor too."""
    assert unlike(along(128, 240, "int64"), along(480, 480, "int64")) == [(128, 480)]


def unlike(*funcs: tir.PrimFunc) -> list[tuple[object, object]]:
    """Where the forms of two kernels are not the same."""
    with HASWELL:
        schedule = tvm.dlight.ApplyDefaultSchedule(Conv2D())
        made = [schedule(tvm.IRModule({"main": func}))["main"] for func in funcs]
    # without what comes before: how weights are packed
    first, second = (kernel_form(func.with_body(func.body.block.body[1])) for func in made)
    assert first is not None
    assert second is not None
    assert len(first.tokens) == len(second.tokens)
    assert first.sizes != second.sizes
    return [(a, b) for a, b in zip(first.tokens, second.tokens) if a != b]
