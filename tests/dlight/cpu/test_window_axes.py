"""What windows of a block read: steps, reach, and the buffer behind a border."""

from __future__ import annotations

import pytest

from tests.dlight.cpu.test_window import depthwise
from tvm import te
from tvm.dlight.base import open_schedule
from tvm.dlight.cpu.base import root_blocks
from tvm.dlight.cpu.fused import padding_of
from tvm.dlight.cpu.general import inline_epilogues
from tvm.dlight.cpu.planes import plane_of
from tvm.dlight.cpu.window_axes import Axis, Source, axis_of, read_of, source_of
from tvm.tir.expr import IterVar


def found(stride: int, pad: int, dilation: int) -> tuple[Axis, Axis, Source | None]:
    n, h, w = (te.size_var(name) for name in "nhw")
    sch = open_schedule(depthwise((n, 4, h, w), 3, stride, pad, dilation))
    inline_epilogues(sch)
    block = next(b for b in root_blocks(sch) if sch.get(b).init is not None)
    node = sch.get(block)
    plane = plane_of(node)
    assert plane is not None
    spatial = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar]
    reducing = [iv for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce]
    down, along = (axis_of(plane, iv, reducing) for iv in spatial[-2:])
    assert down is not None
    assert along is not None
    assert axis_of(plane, spatial[0], reducing) is not None  # images: one element each
    read = read_of(node.body.value, plane)
    return down, along, source_of(
        sch, padding_of(sch, block, plane.buffer), read, plane, (down, along)
    )


@pytest.mark.parametrize(("stride", "pad", "dilation"), [(1, 1, 1), (2, 0, 1), (1, 2, 2)])
def test_steps_and_borders(stride: int, pad: int, dilation: int) -> None:
    down, along, source = found(stride, pad, dilation)
    for axis in (down, along):
        assert (axis.step, axis.scale, axis.reach) == (stride, dilation, 2 * dilation)
        assert axis.taps == range(3)
    assert source is not None
    assert source.before == {down: pad, along: pad}
    assert (source.dims[down], source.dims[along]) == (2, 3)
