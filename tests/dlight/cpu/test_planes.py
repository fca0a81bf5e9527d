"""Windows over planes of sizes that are symbols, or that tiles do not divide."""

from __future__ import annotations

import pytest

from tests.dlight.cpu.test_window import depthwise, pool
from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.planes import plane_of
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.stmt import Block

REASON = "windows over"


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
