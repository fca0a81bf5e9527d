from __future__ import annotations

import pytest

from tests.tir.schedule.cases import elementwise
from tvm.arith import Analyzer
from tvm.script import tir as T
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.analysis.match import DescMatcher
from tvm.tir.schedule.error import Illegal
from tvm.tir.stmt import Block


def row(value: float, extent: int) -> Block:
    """The root block of a description that adds a number to a row."""

    @T.prim_func
    def desc(X: T.Buffer((extent,), "float32"), Y: T.Buffer((extent,), "float32")) -> None:
        with T.block("root"):
            T.reads(X[0:extent])
            T.writes(Y[0:extent])
            for k in range(extent):
                with T.block("add"):
                    vk = T.axis.spatial(extent, k)
                    Y[vk] = X[vk] + T.float32(value)

    return desc.body.block


def blockized() -> Block:
    sch = Schedule(elementwise(4, 8))
    return sch.get(sch.blockize(sch.get_loops("B")[1]))


def test_regions_of_the_buffers() -> None:
    block = blockized()
    matcher = DescMatcher(row(1.0, 8), block, Analyzer())
    matcher.run()
    found = {desc.name: region for desc, region in matcher.regions.items()}
    assert found["X"].same_as(block.reads[0])
    assert found["Y"].same_as(block.writes[0])


def test_other_constant_or_extent() -> None:
    with pytest.raises(Illegal, match="is stored, by desc"):
        DescMatcher(row(2.0, 8), blockized(), Analyzer()).run()
    with pytest.raises(Illegal, match="runs 8 times"):
        DescMatcher(row(1.0, 4), blockized(), Analyzer()).run()
