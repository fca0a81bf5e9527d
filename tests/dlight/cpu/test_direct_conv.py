"""Convolutions with their channels along vectors: when, and with which results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_any_size import CPUS, f32
from tests.dlight.cpu.test_any_size import conv as exact
from tests.dlight.programs import HASWELL, SPR, conv, scheduled
from tvm import relax, te
from tvm.dlight.cpu import Conv2D, direct_conv
from tvm.relax.op import nn
from tvm.target import Target
from tvm.tir.function import PrimFunc


def weighted(func: PrimFunc) -> PrimFunc:
    return func.with_attr("layout_free_buffers", [1])


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", [SPR, HASWELL], ids=str)
@pytest.mark.parametrize(
    ("n", "ci", "co", "h", "kernel", "stride", "pad"),
    [(1, 4, 16, 15, 3, 2, 1), (2, 12, 16, 7, 3, 1, 1), (1, 64, 32, 7, 1, 1, 0),
     (1, 3, 32, 20, 7, 2, 3)],
)  # fmt: skip
@pytest.mark.parametrize("epilogue", [False, True])
def test_shapes(
    n: int, ci: int, co: int, h: int, kernel: int, stride: int, pad: int, epilogue: bool,
    target: Target,
) -> None:  # fmt: skip
    func = weighted(conv(n, ci, co, h, kernel, stride, pad, epilogue))
    after = scheduled(Conv2D(), func, target)
    if target is SPR:
        assert "channels along vectors" in str(after.attrs["schedule_reason"])


def reason(func: PrimFunc, target: Target = SPR) -> str:
    sch = Conv2D().apply(func, target, False)
    assert sch is not None
    return str(sch.mod["main"].attrs["schedule_reason"])  # type: ignore[union-attr]


def test_tiles_of_networks() -> None:
    """Rows of the image in full, and panels of weights that stay in the second cache."""
    cases = {
        (1024, 256, 28, 1, 2): "14x32", (512, 512, 7, 3, 1): "7x32", (128, 256, 28, 3, 2): "14x32",
        (3, 64, 224, 7, 2): "4x64",
    }  # fmt: skip
    for (ci, co, h, kernel, stride), tile in cases.items():
        found = reason(weighted(conv(1, ci, co, h, kernel, stride, kernel // 2)))
        assert found.startswith(f"{tile} tile, channels along vectors"), found


@pytest.mark.parametrize(
    ("ci", "co", "h", "kernel", "stride"),
    [
        (64, 256, 56, 1, 1),  # whole vectors of places: nothing to gain
        (64, 24, 7, 1, 1),  # channels that are no whole vectors
        (64, 32, 38, 3, 2),  # 19 places a row
        (4, 64, 14, 1, 1),  # sums too short to turn the result around
        (512, 256, 28, 1, 1),  # each step along the sum is in another page of memory
    ],
)
def test_others_gather_columns(ci: int, co: int, h: int, kernel: int, stride: int) -> None:
    found = reason(weighted(conv(1, ci, co, h, kernel, stride, kernel // 2)))
    assert "channels along vectors" not in found


@pytest.mark.parametrize("epilogue", [False, True])
def test_tiles_are_turned_in_registers(epilogue: bool) -> None:
    """7 rows are those of a square of eight; a prime beyond vectors is turned one by one."""
    for (co, h, target), shuffles in {(64, 7, SPR): True, (64, 7, HASWELL): True,
                                      (16, 11, HASWELL): False}.items():  # fmt: skip
        func = weighted(conv(1, 64, co, h, 3, 1, 1, epilogue))
        sch = Conv2D().apply(func, target, False)
        assert sch is not None
        text = sch.mod["main"].script()
        assert "channels along vectors" in text
        assert ("T.Shuffle" in text) == shuffles


@pytest.mark.parametrize(
    ("batch", "ci", "co", "h", "kernel", "stride", "order"),
    [
        (1, 128, 64, 14, 3, 1, ""),  # the image stays in the second cache
        (8, 512, 512, 11, 3, 1, "all channels of an image"),  # one image does, eight do not
        (1, 128, 128, 112, 3, 2, "all channels of a row"),  # the weights do, the image does not
    ],
)
def test_loops_run_in_the_order_that_fetches_least(
    batch: int, ci: int, co: int, h: int, kernel: int, stride: int, order: str
) -> None:
    func = weighted(conv(batch, ci, co, h, kernel, stride, kernel // 2))
    found = reason(func)
    assert "channels along vectors" in found
    assert (f"{order} at a time" in found) if order else "at a time" not in found


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL], ids=str)
@pytest.mark.parametrize(
    ("shape", "order"),
    [((3, 20, 32, 14, 3, 2, 1), "an image"), ((2, 33, 32, 7, 3, 1, 1), "an image"),
     ((1, 9, 32, 14, 5, 1, 2), "a row")],
)  # fmt: skip
def test_values_in_other_orders(
    shape: tuple[int, ...], order: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = int(order == "a row")
    # whatever it gains, also for shapes that are quick to interpret
    monkeypatch.setattr(direct_conv.Moves, "least", lambda self, _: (-1e12, self.loops[which]))
    after = scheduled(Conv2D(), weighted(conv(*shape, True)), target)
    assert f"all channels of {order} at a time" in str(after.attrs["schedule_reason"])


def test_weights_that_change_are_not_packed() -> None:
    assert "into a panel" in reason(conv(1, 512, 512, 7))


def test_symbolic_batch() -> None:
    n = te.size_var("n")
    x = te.placeholder((n, 12, 9, 9), name="X")
    w = te.placeholder((16, 12, 3, 3), name="W")
    c, ry, rx = (te.reduce_axis((0, e), name=s) for e, s in ((12, "c"), (3, "ry"), (3, "rx")))
    y = te.compute(
        (n, 16, 7, 7),
        lambda b, f, i, j: te.sum(x[b, c, i + ry, j + rx] * w[f, c, ry, rx], axis=[c, ry, rx]),
        name="C",
    )
    after = scheduled(Conv2D(), weighted(te.create_prim_func([x, w, y])), sizes={"n": 3})
    assert "channels along vectors" in str(after.attrs["schedule_reason"])


def run(make: Callable[[relax.Var], relax.Expr], x: np.ndarray, cpu: str) -> np.ndarray:
    bb = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorStructInfo(x.shape, str(x.dtype)))
    with bb.function("main", [data]):
        with bb.dataflow():
            out = bb.emit_output(make(data))
        bb.emit_func_output(out)
    machine = relax.VirtualMachine(tvm.compile(bb.get(), f"llvm -mcpu={cpu}"), tvm.cpu())
    found: np.ndarray = machine["main"](tvm.runtime.tensor(x)).numpy()
    return found


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(
    ("batch", "channels", "filters", "high", "wide", "kernel", "stride"),
    [(1, 32, 64, 14, 14, 3, 2), (3, 96, 32, 7, 7, 1, 1), (2, 5, 48, 11, 26, 5, 2),
     (1, 40, 32, 1, 30, 3, 2)],
)  # fmt: skip
def test_native(
    batch: int, channels: int, filters: int, high: int, wide: int, kernel: int, stride: int,
    cpu: str,
) -> None:  # fmt: skip
    """With a bias, a residual and an activation in the store."""
    x = f32(batch, channels, high, wide)
    weight = f32(filters, channels, kernel, kernel) / kernel
    bias, pad = f32(1, filters, 1, 1, seed=1), kernel // 2
    wanted = exact(x, weight, stride, pad, 1) + bias
    residual = f32(*wanted.shape, seed=2)

    def make(data: relax.Var) -> relax.Expr:
        made = nn.conv2d(data, relax.const(weight), strides=stride, padding=pad)
        made = relax.op.add(relax.op.add(made, relax.const(bias)), relax.const(residual))
        return nn.relu(made)

    wanted = np.maximum(wanted + residual, 0)
    np.testing.assert_allclose(run(make, x, cpu), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dilated(dtype: str) -> None:
    x, weight = f32(1, 32, 14, 14).astype(dtype), f32(32, 32, 3, 3).astype(dtype)
    wide = np.zeros((32, 32, 5, 5), dtype)
    wide[:, :, ::2, ::2] = weight

    def make(data: relax.Var) -> relax.Expr:
        return nn.conv2d(data, relax.const(weight, dtype), padding=2, dilation=2)

    np.testing.assert_allclose(
        run(make, x, CPUS[-1]), exact(x, wide, 1, 2, 1), rtol=1e-4, atol=1e-3
    )
