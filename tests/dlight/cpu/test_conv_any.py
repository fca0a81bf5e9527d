"""Convolutions over planes of any size."""

from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D
from tvm.dlight.cpu.conv_any import tiles_for
from tvm.target import Target

REASON = "panels of rows of planes of any size"


def conv(
    channels: int, filters: int, kernel: int, stride: int, pad: int, dilation: int = 1,
    epilogue: bool = True, batch: int | None = None,
) -> tir.PrimFunc:  # fmt: skip
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n if batch is None else batch, channels, h, w), name="X")
    weight = te.placeholder((filters, channels, kernel, kernel), name="W")
    y = topi.nn.conv2d_nchw(x, weight, stride, pad, dilation)
    if not epilogue:
        return te.create_prim_func([x, weight, y])
    bias = te.placeholder((filters, 1, 1), name="bias")
    return te.create_prim_func([x, weight, bias, topi.nn.relu(topi.add(y, bias))])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilation"),
    [(3, 1, 1, 1), (3, 2, 1, 1), (1, 1, 0, 1), (1, 2, 0, 1), (5, 3, 0, 1), (3, 1, 2, 2),
     (3, 2, 2, 2), (2, 2, 0, 1)],
)  # fmt: skip
def test_steps_windows_and_dilations(
    kernel: int, stride: int, pad: int, dilation: int, target: Target
) -> None:
    func = conv(3, 5, kernel, stride, pad, dilation, epilogue=stride < 3)
    after = scheduled(Conv2D(), func, target, {"n": 2, "h": 9, "w": 11})
    reason = str(after.attrs["schedule_reason"])
    assert REASON in reason
    one_run = (kernel, stride, pad) == (1, 1, 0)  # the plane is a matrix as it is
    assert one_run is ("T.decl_buffer" in after.script())


@pytest.mark.parametrize(("h", "w"), [(1, 1), (1, 20), (6, 1), (17, 3)])
def test_all_sizes(h: int, w: int) -> None:
    scheduled(Conv2D(), conv(2, 17, 3, 1, 1), SPR, {"n": 1, "h": h, "w": w})


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", [SPR, HASWELL])
@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize(("h", "w"), [(3, 16), (2, 32), (1, 75), (2, 160)])
def test_whole_vectors_go_from_registers_to_the_result(
    h: int, w: int, kernel: int, target: Target
) -> None:
    func = conv(2, 17, kernel, 1, kernel // 2)
    after = scheduled(Conv2D(), func, target, {"n": 2, "h": h, "w": w})
    stores = [line.split(" = ", 1) for line in after.script().splitlines() if " = " in line]
    straight = [to for to, value in stores if "tile[" in value and "T.max" in value]
    wide = len(tiles_for(target.cpu, 32, 17))
    assert len(straight) == wide * (wide + 1) // 2  # a store for each vector of each tile


@pytest.mark.covering(1)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("h", "w"), [(9, 3), (4, 33), (3, 100)])
def test_rows_are_copied_with_their_edges(h: int, w: int, stride: int) -> None:
    """Edges of less than a vector, of two and of more."""
    for kernel, pad in ((3, 1), (5, 2), (3, 0), (2, 40)):
        func = conv(2, 3, kernel, stride, pad, epilogue=False)
        scheduled(Conv2D(), func, SPR, {"n": 1, "h": h, "w": w})


def test_sums_are_there_for_each_number_of_vectors() -> None:
    """Only they are: what is packed, and what follows, is the same for all."""
    after = scheduled(Conv2D(), conv(4, 8, 3, 2, 1), SPR, {"n": 1, "h": 5, "w": 6})
    assert "down to 16 columns" in str(after.attrs["schedule_reason"])
    lines = after.script().splitlines()
    products = [line for line in lines if "tile[" in line and "* W[" in line]
    assert len(products) == len(tiles_for(SPR.cpu, 32, 8)) > 1
    assert not any("//" in line for line in products)
    assert sum("C[" in line or "compute" in line for line in lines if "sums[" in line) == 2


def test_few_filters_and_many() -> None:
    for filters in (2, 50):
        scheduled(Conv2D(), conv(2, filters, 1, 2, 0), HASWELL, {"n": 2, "h": 3, "w": 6})


def test_a_result_that_is_read_twice_is_stored() -> None:
    """What follows is a kernel of its own."""
    n, h, w = (te.size_var(name) for name in "nhw")
    x, weight = te.placeholder((n, 3, h, w), name="X"), te.placeholder((4, 3, 3, 3), name="W")
    y = topi.nn.conv2d_nchw(x, weight, 1, 1, 1)
    func = te.create_prim_func([x, weight, topi.multiply(y, topi.sum(y, 3, keepdims=True))])
    after = scheduled(Conv2D(), func, HASWELL, {"n": 2, "h": 3, "w": 5})
    assert REASON in str(after.attrs["schedule_reason"])


def test_one_and_three_dimensions() -> None:
    t = te.size_var("t")
    x, w = te.placeholder((2, 3, t), name="X"), te.placeholder((4, 3, 5), name="W")
    y = topi.nn.conv1d(x, w, 2, 2, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]), SPR, {"t": 13})
    assert REASON in str(after.attrs["schedule_reason"])
    x = te.placeholder((1, 2, 4, t, 5), name="X")
    w = te.placeholder((3, 2, 3, 3, 3), name="W")
    y = topi.nn.conv3d_ncdhw(x, w, 1, 1, 1, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]), SPR, {"t": 4})
    assert REASON in str(after.attrs["schedule_reason"])


def test_one_symbolic_side() -> None:
    w = te.size_var("w")
    x = te.placeholder((1, 3, 7, w), name="X")
    weight = te.placeholder((6, 3, 3, 3), name="W")
    y = topi.nn.conv2d_nchw(x, weight, (2, 1), 1, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, weight, y]), SPR, {"w": 9})
    assert REASON in str(after.attrs["schedule_reason"])


@pytest.mark.covering(1)
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (1, 2), (5, 1)])
@pytest.mark.parametrize("filters", [5, 50])
def test_many_channels_are_summed_in_parts(filters: int, kernel: int, stride: int) -> None:
    """What is not there yet waits in memory of all filters, which lives through all parts."""
    channels = 256 * 9 // kernel**2 // 16 * 16
    func = conv(channels, filters, kernel, stride, kernel // 2)
    after = scheduled(Conv2D(), func, HASWELL, {"n": 1, "h": 3, "w": 5})
    lines = after.script().splitlines()
    parts = [number for number, line in enumerate(lines) if "for part in range" in line]
    sums = [number for number, line in enumerate(lines) if "sums[" in line]
    assert len(parts) == 1
    assert sums[0] < parts[0] < sums[-1]


def test_weights_of_the_next_tile_are_fetched_where_no_cache_has_all() -> None:
    for filters, fetched in ((8, False), (64, True)):
        after = scheduled(Conv2D(), conv(256, filters, 3, 2, 1), HASWELL, {"n": 1, "h": 3, "w": 3})
        assert ("prefetch" in after.script()) is fetched
