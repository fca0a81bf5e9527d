"""Convolutions over small planes that are one run: which, in which tiles, with which results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_direct_conv import reason, weighted
from tests.dlight.programs import HASWELL, SPR, conv, scheduled
from tvm import relax, te
from tvm.dlight.cpu import Conv2D, conv2d, run_conv
from tvm.relax.op import nn
from tvm.target import Target

RUN = "planes are runs"


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", [SPR, HASWELL], ids=str)
@pytest.mark.parametrize(
    ("n", "ci", "co", "h"),
    [(1, 96, 32, 7), (2, 48, 64, 5), (3, 40, 48, 6), (1, 72, 16, 11)],
)
@pytest.mark.parametrize("epilogue", [False, True])
@pytest.mark.parametrize("sliced", [False, True])
def test_values(
    n: int, ci: int, co: int, h: int, epilogue: bool, sliced: bool, target: Target,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # whatever it gains, also for shapes that are quick to interpret
    monkeypatch.setattr(conv2d, "direct_form", lambda *_: None)
    monkeypatch.setattr(run_conv, "cycles_of_gathered", lambda *_: float("inf"))
    if sliced:
        monkeypatch.setattr(run_conv, "_depths", lambda *_: [8])
    after = scheduled(Conv2D(), weighted(conv(n, ci, co, h, 1, 1, 0, epilogue)), target)
    found = str(after.attrs["schedule_reason"])
    assert RUN in found
    assert (", 8 channels at a time" in found) == sliced


@pytest.mark.parametrize(
    ("shape", "target", "tile", "depth"),
    [
        ((960, 160, 7), HASWELL, "5x16", 240),  # 50 places for 49
        ((96, 576, 14), HASWELL, "4x24", 96),
        ((1024, 256, 14), HASWELL, "6x16", 256),
        ((1024, 256, 14), SPR, "14x32", 256),
        ((576, 96, 14), SPR, "9x48", 192),
    ],
)
def test_tiles_end_anywhere_in_the_plane(
    shape: tuple[int, int, int], target: Target, tile: str, depth: int
) -> None:
    ci, co, h = shape
    found = reason(weighted(conv(1, ci, co, h, 1, 1, 0)), target)
    assert found.startswith(f"{tile} tile, channels along vectors")
    assert RUN in found
    assert f"{depth} channels at a time" in found


@pytest.mark.parametrize(
    ("ci", "co", "h", "kernel", "stride"),
    [
        (64, 64, 14, 3, 1),  # windows are no run
        (256, 512, 14, 1, 2),  # nor are places that are left out
        (64, 24, 7, 1, 1),  # channels that are no whole vectors
        (64, 256, 28, 1, 1),  # sums of a plane that leave the first cache
        (4, 64, 14, 1, 1),  # sums too short to turn the result around
    ],
)
def test_others_have_other_forms(ci: int, co: int, h: int, kernel: int, stride: int) -> None:
    assert RUN not in reason(weighted(conv(1, ci, co, h, kernel, stride, kernel // 2)))


def test_weights_that_change_are_not_packed() -> None:
    assert RUN not in reason(conv(1, 512, 512, 7, 1, 1, 0))


def test_slices_stay_in_the_first_cache() -> None:
    """Weights, and a line of places for each channel."""
    for kilobytes, depth in ((8, 64), (32, 256), (128, 1024)):
        cpu = replace(HASWELL.cpu, l1d_bytes=kilobytes << 10)
        assert run_conv._depths(1024, 64, cpu)[-1] == depth


def test_a_batch_goes_image_by_image_where_it_leaves_the_second_cache() -> None:
    few = reason(weighted(conv(1, 64, 384, 14, 1, 1, 0)), HASWELL)
    many = reason(weighted(conv(8, 64, 384, 14, 1, 1, 0)), HASWELL)
    assert "an image at a time" not in few
    assert "all channels of an image at a time" in many


def test_open_batch() -> None:
    n = te.size_var("n")
    x, w = te.placeholder((n, 48, 7, 7), name="X"), te.placeholder((32, 48, 1, 1), name="W")
    c, ry, rx = (te.reduce_axis((0, e), name=s) for e, s in ((48, "c"), (1, "ry"), (1, "rx")))
    y = te.compute(
        (n, 32, 7, 7),
        lambda b, f, i, j: te.sum(x[b, c, i + ry, j + rx] * w[f, c, ry, rx], axis=[c, ry, rx]),
        name="C",
    )
    after = scheduled(Conv2D(), weighted(te.create_prim_func([x, w, y])), HASWELL, sizes={"n": 3})
    assert RUN in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("batch", [1, 3])
def test_network(batch: int) -> None:
    """With a residual connection, a reduction behind it, packed weights; against numpy."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, 64, 7, 7)).astype("float32")
    first, second = (
        (rng.standard_normal(s) / 10).astype("float32") for s in ((96, 64, 1, 1), (64, 96, 1, 1))
    )
    bb = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorStructInfo(x.shape, "float32"))
    with bb.function("main", [data]):
        with bb.dataflow():
            a = bb.emit(nn.relu(bb.emit(nn.conv2d(data, relax.const(first)))))
            b = bb.emit(nn.relu(bb.emit(relax.op.add(nn.conv2d(a, relax.const(second)), data))))
            out = bb.emit_output((b, bb.emit(relax.op.sum(b, [2, 3]))))
        bb.emit_func_output(out)
    machine = relax.VirtualMachine(tvm.compile(bb.get(), "llvm -mcpu=haswell"), tvm.cpu())
    found = [part.numpy() for part in machine["main"](tvm.runtime.tensor(x))]
    middle = np.maximum(np.einsum("nchw,kc->nkhw", x, first[..., 0, 0]), 0)
    want = np.maximum(np.einsum("nchw,kc->nkhw", middle, second[..., 0, 0]) + x, 0)
    np.testing.assert_allclose(found[0], want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], want.sum((2, 3)), rtol=1e-4, atol=1e-4)
