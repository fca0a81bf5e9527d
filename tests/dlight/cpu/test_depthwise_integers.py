from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_dots_direct import CPUS
from tests.dlight.programs import SPR
from tvm import te, tir
from tvm.dlight.cpu import DepthwiseIntegers
from tvm.target import Target
from tvm.tir.schedule import Schedule
from tvm.topi.nn.conv_nd import conv


def convolution(
    size: int, channels: int, *, stride: int = 1, one: str = "uint8", many: str = "int8"
) -> tir.PrimFunc:
    """3 x 3 without a border, channels last, and one number less for each channel."""
    x = te.placeholder((2, size, size, channels), one, name="x")
    w = te.placeholder((channels, 3, 3, 1), many, name="w")
    s = te.placeholder((channels,), "int32", name="s")
    y = conv(x, w, stride, 0, 1, channels, "NHWC", "OHWI", "int32")
    z = te.compute(y.shape, lambda *i: y[i] - s[i[-1]], name="z")
    return te.create_prim_func([x, w, s, z]).with_attr("layout_free_buffers", [1])


@pytest.mark.pure
def test_reasons() -> None:
    sch = DepthwiseIntegers().apply(convolution(10, 96), SPR, False)
    assert isinstance(sch, Schedule)
    made = sch.mod["main"]
    assert isinstance(made, tir.PrimFunc)
    assert "4 pixels of 3 x 16 channels" in str(made.attrs["schedule_reason"])
    assert DepthwiseIntegers().apply(convolution(10, 6), SPR, False) is None
    other = convolution(10, 96).without_attr("layout_free_buffers")
    assert DepthwiseIntegers().apply(other, SPR, False) is None


@pytest.mark.covering(1)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("size", "channels", "options"), [
    (10, 48, {}), (9, 24, {"stride": 2}), (7, 20, {"one": "int16", "many": "int16"}),
])  # fmt: skip
def test_sums_are_exact(cpu: str, size: int, channels: int, options: dict[str, object]) -> None:
    target = Target(f"llvm -mcpu={cpu}")
    func = convolution(size, channels, **options)  # type: ignore[arg-type]
    sch = DepthwiseIntegers().apply(func, target, False)
    assert isinstance(sch, Schedule)
    run = tvm.compile(sch.mod, target=target)
    rng = np.random.default_rng(0)
    wide = "one" in options
    x = rng.integers(-255 if wide else 0, 256, (2, size, size, channels))
    w = rng.integers(-128, 128, (channels, 3, 3, 1))
    s = rng.integers(-9, 9, channels).astype("int32")
    kinds = ("int16", "int16") if wide else ("uint8", "int8")
    step = 2 if "stride" in options else 1
    count = (size - 3) // step + 1
    out = tvm.runtime.empty((2, count, count, channels), "int32")
    given = (x.astype(kinds[0]), w.astype(kinds[1]), s)
    run(*(tvm.runtime.tensor(a) for a in given), out)
    wanted = -np.broadcast_to(s, out.shape).astype("int64")
    for ky in range(3):
        for kx in range(3):
            wanted = wanted + x[:, ky::step, kx::step][:, :count, :count] * w[:, ky, kx, 0]
    np.testing.assert_array_equal(out.numpy(), wanted)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("stride", [1, 2])
def test_rows_of_any_size_end_with_the_last_pixel_again(cpu: str, stride: int) -> None:
    n, h, w, rows, columns = (te.size_var(name, "int64") for name in ("n", "h", "w", "y", "x"))
    channels, three, step = (tir.IntImm("int64", value) for value in (24, 3, stride))
    x = te.placeholder((n, h, w, channels), "uint8", name="X")
    taps = te.placeholder((channels, three, three, tir.IntImm("int64", 1)), "int8", name="W")
    ry, rx = (te.reduce_axis((0, three), name) for name in ("ry", "rx"))
    y = te.compute((n, rows, columns, channels), lambda b, i, j, c: te.sum(
        x[b, i * step + ry, j * step + rx, c].astype("int32") * taps[c, ry, rx, 0].astype("int32"),
        [ry, rx],
    ), name="Y")  # fmt: skip
    func = te.create_prim_func([x, taps, y], index_dtype_override="int64")
    target = Target(f"llvm -mcpu={cpu}")
    sch = DepthwiseIntegers().apply(func.with_attr("layout_free_buffers", [1]), target, False)
    assert isinstance(sch, Schedule)
    run, rng = tvm.compile(sch.mod, target=target), np.random.default_rng(0)
    given = rng.integers(-128, 128, (24, 3, 3, 1)).astype("int8")
    for shape in ((1, 3, 3, 24), (2, 6, 12, 24)):
        image = rng.integers(0, 256, shape).astype("uint8")
        high, wide = ((extent - 3) // stride + 1 for extent in shape[1:3])
        out = tvm.runtime.empty((shape[0], high, wide, 24), "int32")
        run(tvm.runtime.tensor(image), tvm.runtime.tensor(given), out)
        wanted = sum(
            image[:, ky::stride, kx::stride][:, :high, :wide].astype("int64") * given[:, ky, kx, 0]
            for ky in range(3) for kx in range(3)
        )  # fmt: skip
        np.testing.assert_array_equal(out.numpy(), wanted)
