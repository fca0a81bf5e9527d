"""Windows over planes of sizes that are symbols, or that tiles do not divide."""

from __future__ import annotations

import pytest

from tests.dlight.cpu.test_window import depthwise, pool
from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.planes import plane_of
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.stmt import Block

REASON = "windows over"


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (5, 1, 1), (5, 2, 1), (3, 1, 2)]
)
def test_depthwise(kernel: int, stride: int, dilation: int, target: Target) -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    func = depthwise((n, 3, h, w), kernel, stride, kernel // 2 * dilation, dilation, True)
    after = scheduled(Fallback(), func, target, {"n": 2, "h": 10, "w": 19})
    assert REASON in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize(("h", "w"), [(1, 1), (2, 40), (5, 16), (9, 3)])
def test_all_sizes(h: int, w: int) -> None:
    n, a, b = te.size_var("n"), te.size_var("h"), te.size_var("w")
    scheduled(Fallback(), depthwise((n, 2, a, b), 3, 1, 1), SPR, {"n": 1, "h": h, "w": w})
    scheduled(Fallback(), depthwise((1, 2, 7, b), 3, 1, 1), SPR, {"w": w})
    scheduled(Fallback(), depthwise((1, 2, a, 13), 3, 1, 1), SPR, {"h": h})


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(("kernel", "stride", "pad"), [(2, 2, 0), (3, 2, 1), (3, 1, 1)])
def test_pools(kind: str, kernel: int, stride: int, pad: int) -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    func = pool((n, 3, h, w), kind, kernel, stride, pad)
    scheduled(Fallback(), func, SPR, {"n": 2, "h": 11, "w": 14})


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL])
@pytest.mark.parametrize("size", [7, 11, 13])
def test_tiles_that_do_not_divide_known_sizes(size: int, target: Target) -> None:
    after = scheduled(Fallback(), depthwise((1, 3, size, size), 3, 1, 1), target)
    rows = int(str(after.attrs["schedule_reason"]).partition("windows over ")[2].split()[0])
    assert rows > 1


def test_planes_are_told_by_their_places() -> None:
    func = depthwise((1, 3, 9, 9), 3, 2, 1)
    blocks = [node for node in walk(func.body) if isinstance(node, Block)]
    pad, window = blocks[1:]
    assert plane_of(pad) is None
    plane = plane_of(window)
    assert plane is not None
    assert plane.buffer is pad.writes[0].buffer
    assert [plane.step(iv.var) for iv in window.iter_vars[1:4]] == [1, 2, 2]


def _channels_last(channels: int, height: int, stride: int = 1) -> tir.PrimFunc:
    """A depthwise convolution whose weights lie along the vectors of the result."""
    x = te.placeholder((1, height * stride + 2, 9, channels), name="x")
    w = te.placeholder((3, 3, channels), name="w")
    i, j = te.reduce_axis((0, 3), "i"), te.reduce_axis((0, 3), "j")
    out = te.compute(
        (1, height, 7, channels),
        lambda n, y, z, c: te.sum(x[n, y * stride + i, z + j, c] * w[i, j, c], axis=[i, j]),
    )
    return te.create_prim_func([x, w, out])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(("channels", "height"), [(17, 7), (24, 5), (33, 1), (16, 6), (9, 11)])
def test_operands_have_room_for_whole_tiles(channels: int, height: int, target: Target) -> None:
    """The interpreter looks at each place that is read."""
    for stride in (1, 2):
        scheduled(Fallback(), _channels_last(channels, height, stride), target)


@pytest.mark.parametrize("target", [SPR, HASWELL, NEON, Target("llvm -mcpu=x86-64-v2")])
def test_rows_that_no_window_moves_have_room_too(target: Target) -> None:
    """A plane with a row for each row of the result, rounded up to 65 where there are 64."""
    x, k = te.placeholder((64, 4), name="x"), te.reduce_axis((0, 4), "k")
    out = te.compute((17, 9, 64, 1), lambda a, b, i, j: te.sum(x[i, j + k], axis=k))
    scheduled(Fallback(), te.create_prim_func([x, out]), target)
