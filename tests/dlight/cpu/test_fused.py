"""What stands beside a kernel: its padding, and the block that takes its result."""

from __future__ import annotations

import pytest

from tests.dlight.cpu.test_window import depthwise
from tvm import te, tir
from tvm.dlight.base import open_schedule
from tvm.dlight.cpu.base import root_blocks
from tvm.dlight.cpu.fused import epilogue_of, padding_of
from tvm.dlight.cpu.general import inline_epilogues
from tvm.dlight.cpu.planes import plane_of
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import BufferStore

pytestmark = pytest.mark.pure


def reduction(sch: Schedule) -> tuple[BlockRV, BufferStore]:
    """The block that sums, and its store."""
    block = next(b for b in root_blocks(sch) if sch.get(b).init is not None)
    store = sch.get(block).body
    assert isinstance(store, BufferStore)
    return block, store


def opened(func: tir.PrimFunc) -> Schedule:
    sch = open_schedule(func)
    inline_epilogues(sch)
    return sch


def test_padding_and_epilogue_of_a_convolution() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    sch = opened(depthwise((n, 3, h, w), 3, 1, 1, epilogue=True))
    block, store = reduction(sch)
    plane = plane_of(sch.get(block))
    assert plane is not None
    pad = padding_of(sch, block, plane.buffer)
    assert pad is not None
    assert sch.get(pad).writes[0].buffer is plane.buffer
    last = epilogue_of(sch, block, store.buffer, store.indices)
    assert last is not None
    own = [iv.var for iv in sch.get(last.block).iter_vars]
    assert [last.variables[var] for var in own] == list(store.indices)


def test_a_result_has_no_epilogue_and_a_plain_plane_no_padding() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    sch = opened(depthwise((n, 3, h, w), 3, 1, 0))
    block, store = reduction(sch)
    plane = plane_of(sch.get(block))
    assert plane is not None
    assert padding_of(sch, block, plane.buffer) is None
    assert epilogue_of(sch, block, store.buffer, store.indices) is None


def test_places_read_in_part_are_no_epilogue() -> None:
    n = te.size_var("n")
    x, k = te.placeholder((n, 8, 4), name="X"), te.reduce_axis((0, 4), name="k")
    y = te.compute((n, 8), lambda i, j: te.sum(x[i, j, k], axis=k), name="Y")
    func = te.create_prim_func([x, te.compute((n, 4), lambda i, j: y[i, j + 2] + 1.0, name="Z")])
    sch = opened(func)
    block, store = reduction(sch)
    assert epilogue_of(sch, block, store.buffer, store.indices) is None
