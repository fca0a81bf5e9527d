from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_dots import HERE
from tests.dlight.programs import HASWELL, SPR, random_names, with_names
from tests.end_to_end.cpus import PLAIN
from tvm import te, tir
from tvm.dlight.cpu import DotProducts
from tvm.target import Target
from tvm.tir.schedule import Schedule
from tvm.topi.nn.conv_nd import conv

CPUS = [*HERE, *(["x86-64-v2"] if PLAIN == "x86-64-v2" else [])]


def convolution(
    size: tuple[int, int], channels: int, filters: int, kernel: int, *, stride: int = 1,
    dilation: int = 1, batch: int = 1, one: str = "uint8", many: str = "int8", weights: bool = True,
) -> tir.PrimFunc:  # fmt: skip
    """A convolution without a border, channels last, and a factor for each filter."""
    x = te.placeholder((batch, *size, channels), one, name="x")
    w = te.placeholder((filters, kernel, kernel, channels), many, name="w")
    s = te.placeholder((filters,), "float32", name="s")
    y = conv(x, w, stride, 0, dilation, 1, "NHWC", "OHWI", "int32")
    z = te.compute(y.shape, lambda *i: y[i].astype("float32") * s[i[-1]], name="z")
    func = te.create_prim_func([x, w, s, z])
    return func.with_attr("layout_free_buffers", [1]) if weights else func


def schedule(func: tir.PrimFunc, target: Target) -> Schedule | None:
    found = DotProducts().apply(func, target, False)
    assert found is None or isinstance(found, Schedule)
    return found


def reason(func: tir.PrimFunc, target: Target) -> str:
    sch = schedule(func, target)
    assert sch is not None, "the rule takes the function"
    made = sch.mod["main"]
    assert isinstance(made, tir.PrimFunc)
    return str(made.attrs["schedule_reason"])


@pytest.mark.pure
def test_tiles_follow_the_row_and_the_filters() -> None:
    assert "direct: 7x32 tile" in reason(convolution((9, 9), 64, 128, 3), SPR)
    assert "vpdpbusd.512" in reason(convolution((9, 9), 64, 128, 3), SPR)
    assert "vpdpbusd.256" in reason(convolution((9, 9), 64, 24, 3), SPR)  # three of 8 lanes
    assert "pmadd.wd" in reason(convolution((9, 9), 64, 24, 3), HASWELL)
    func = convolution((9, 9), 64, 128, 3)
    assert reason(with_names(func, random_names()), SPR) == reason(func, SPR)


@pytest.mark.pure
def test_text() -> None:
    sch = schedule(convolution((9, 9), 64, 128, 3), SPR)
    assert sch is not None
    assert "T.alloc_buffer((4, 3, 3, 16, 32, 4), \"int8\")" in sch.mod.script()
    assert '"meta_schedule.layout_rewrite_preproc": True' in sch.mod.script()


@pytest.mark.pure
def test_leaves_others() -> None:
    """Channels that fill no group, filters that fill no vector, weights that are no constants."""
    assert schedule(convolution((9, 9), 6, 128, 3), SPR) is None
    assert schedule(convolution((9, 9), 64, 12, 3), SPR) is None
    assert schedule(convolution((9, 9), 64, 128, 3, weights=False), SPR) is None


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(
    ("size", "channels", "filters", "kernel", "options"),
    [
        ((9, 9), 8, 16, 3, {}),
        ((6, 11), 4, 24, 2, {"stride": 2, "batch": 2}),
        ((5, 13), 12, 8, 3, {"dilation": 2}),
        ((4, 17), 4, 48, 1, {"stride": 2, "one": "int16", "many": "int16"}),
    ],
)
def test_sums_are_exact(
    cpu: str, size: tuple[int, int], channels: int, filters: int, kernel: int,
    options: dict[str, object],
) -> None:  # fmt: skip
    target = Target(f"llvm -mcpu={cpu}")
    func = convolution(size, channels, filters, kernel, **options)  # type: ignore[arg-type]
    sch = schedule(func, target)
    assert sch is not None
    run = tvm.compile(sch.mod, target=target)
    rng = np.random.default_rng(0)
    x, w, _, z = (func.buffer_map[param] for param in func.params)
    arrays = [
        rng.integers(*{"uint8": (0, 256), "int8": (-128, 128)}.get(str(b.dtype), (-255, 256)),
                     [int(d) for d in b.shape]).astype(str(b.dtype))  # type: ignore[call-overload]
        for b in (x, w)
    ]  # fmt: skip
    ones = np.ones(filters, "float32")
    out = tvm.runtime.empty([int(d) for d in z.shape], "float32")  # type: ignore[call-overload]
    run(*(tvm.runtime.tensor(a) for a in (*arrays, ones)), out)
    step, spread = int(options.get("stride", 1)), int(options.get("dilation", 1))  # type: ignore[call-overload]
    _, rows, columns, _ = out.shape
    wanted = np.zeros(out.shape)
    for ky in range(kernel):
        for kx in range(kernel):
            part = arrays[0][:, ky * spread :: step, kx * spread :: step][:, :rows, :columns]
            wanted += part.astype("float64") @ arrays[1][:, ky, kx].T.astype("float64")
    np.testing.assert_array_equal(out.numpy(), wanted.astype("float32"))


def open_convolution(channels: int, filters: int, stride: int) -> tir.PrimFunc:
    """A 3 x 3 convolution of any planes, whose result has extents with names of their own."""
    n, h, w, rows, columns = (te.size_var(name, "int64") for name in ("n", "h", "w", "y", "x"))

    def size(value: int) -> tir.IntImm:
        return tir.IntImm("int64", value)

    x = te.placeholder((n, h, w, size(channels)), "uint8", name="X")
    taps = te.placeholder((size(filters), size(3), size(3), size(channels)), "int8", name="W")
    s = te.placeholder((size(filters),), "float32", name="S")
    ry, rx, rc = (te.reduce_axis((size(0), size(e)), f"r{e}{i}")
                  for i, e in enumerate((3, 3, channels)))  # fmt: skip
    step = size(stride)
    y = te.compute((n, rows, columns, size(filters)), lambda b, i, j, f: te.sum(
        x[b, i * step + ry, j * step + rx, rc].astype("int32")
        * taps[f, ry, rx, rc].astype("int32"), [ry, rx, rc],
    ), name="Y")  # fmt: skip
    z = te.compute(y.shape, lambda *i: y[i].astype("float32") * s[i[-1]], name="Z")
    func = te.create_prim_func([x, taps, s, z], index_dtype_override="int64")
    return func.with_attr("layout_free_buffers", [1])


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("stride", [1, 2])
def test_planes_of_any_size_are_one_row(cpu: str, stride: int) -> None:
    target = Target(f"llvm -mcpu={cpu}")
    sch = schedule(open_convolution(8, 16, stride), target)
    assert sch is not None
    run, rng = tvm.compile(sch.mod, target=target), np.random.default_rng(0)
    taps = rng.integers(-128, 128, (16, 3, 3, 8)).astype("int8")
    for shape in ((1, 3, 3, 8), (2, 5, 4, 8), (1, 9, 23, 8)):
        x = rng.integers(0, 256, shape).astype("uint8")
        rows, columns = ((extent - 3) // stride + 1 for extent in shape[1:3])
        wanted = np.zeros((shape[0], rows, columns, 16))
        for ky in range(3):
            for kx in range(3):
                part = x[:, ky::stride, kx::stride][:, :rows, :columns].astype("float64")
                wanted += part @ taps[:, ky, kx].T.astype("float64")
        out = tvm.runtime.empty(wanted.shape, "float32")
        run(*(tvm.runtime.tensor(a) for a in (x, taps, np.ones(16, "float32"))), out)
        np.testing.assert_array_equal(out.numpy(), wanted.astype("float32"))
