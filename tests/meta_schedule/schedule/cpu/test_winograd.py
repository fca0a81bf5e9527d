"""The transforms of Winograd's convolution on CPUs: one schedule, equal numbers."""

from __future__ import annotations

import pytest

from tests.meta_schedule.schedule.winograd_convolutions import same_numbers, scopes, space
from tvm.target import Target
from tvm.tir.stmt import ForKind

pytestmark = pytest.mark.pure
CPU = Target("llvm -num-cores=4")


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_space(layout: str) -> None:
    (sch,) = space("llvm", CPU, layout)
    # what the tiles are read from may be inlined
    assert [name for name in scopes(sch) if name not in ("data_pad", "input_tile")] == [
        "data_pack", "bgemm", "bgemm_global", "inverse", "conv2d_winograd",
    ]  # fmt: skip
    kinds = [inst.kind.name for inst in sch.trace.decisions]
    assert kinds.count("SampleComputeLocation") == 2, "what is padded, and the tiles"
    assert kinds.count("SamplePerfectTile") == 2 + 2 + 5
    assert same_numbers(sch, layout)


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_transforms_are_unrolled(layout: str) -> None:
    (sch,) = space("llvm", CPU, layout)
    for name in ("data_pack", "inverse"):
        loops = [sch.get(loop) for loop in sch.get_loops(sch.get_block(name))]
        assert [loop.kind for loop in loops] == [ForKind.SERIAL] * 4 + [ForKind.UNROLLED] * 4
