from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tir.schedule.cases import check, matmul, matmul_relu, open_schedule
from tests.tir.schedule.primitive.test_tensorize import desc, impl
from tvm.tir import TensorIntrin
from tvm.tir.intrin_registry import INTRINSICS
from tvm.tir.schedule.transform import tile_with_tensor_intrin


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    TensorIntrin.register("test.tile4", desc, impl)
    yield
    INTRINSICS.remove("test.tile4")


def test_tiles_are_innermost() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    tile = tile_with_tensor_intrin(sch, block, "test.tile4")
    extents = [int(sch.get(loop).extent) for loop in sch.get_loops(block)]
    assert extents == [2, 3, 4, 4, 4, 4]
    assert sch.get_sref(tile) is sch.get_sref(sch.get_loops(block)[3])
    sch.tensorize(tile, "test.tile4")
    check(sch, func)


def test_padding_is_inlined() -> None:
    func = matmul_relu(7, 9, 10)
    sch = open_schedule(func)
    block = sch.get_block("C")
    assert tile_with_tensor_intrin(sch, block, "test.tile4") is None
    tile = tile_with_tensor_intrin(sch, block, "test.tile4", allow_padding=True)
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["A_pad", "B_pad", "C", "D"]
    sch.tensorize(tile, "test.tile4")
    check(sch, func)
