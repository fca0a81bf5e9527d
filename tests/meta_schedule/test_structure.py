"""Questions about blocks and loops."""

from __future__ import annotations

import pytest

from tests.meta_schedule.workloads import add_one, matmul, row_sum, softmax
from tvm.meta_schedule import structure as q
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block

pytestmark = pytest.mark.pure


def test_reductions_that_read_again_are_tiled() -> None:
    sch = Schedule(matmul(relu=True))
    block, relu = sch.get_block("C"), sch.get_block("D")
    assert q.needs_multi_level_tiling(sch.state, sch.get_sref(block))
    assert not q.needs_multi_level_tiling(sch.state, sch.get_sref(relu))
    sch.annotate(block, q.TILING, "SRS")
    assert not q.needs_multi_level_tiling(sch.state, sch.get_sref(block))
    rows = Schedule(row_sum())
    place = rows.get_sref(rows.get_block("X_red"))
    assert not q.needs_multi_level_tiling(rows.state, place)


def test_loops_that_were_split_are_not_tiled() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    assert q.is_trivial_binding(sch.state, sch.get_sref(block))
    sch.split(sch.get_loops(block)[0], [None, 4])
    assert not q.is_trivial_binding(sch.state, sch.get_sref(block))
    assert not q.needs_multi_level_tiling(sch.state, sch.get_sref(block))


@pytest.mark.parametrize(
    ("func", "name", "wanted"),
    [
        (row_sum(2, 512), "X_red", True),
        (row_sum(512, 2), "X_red", True),  # not tiled otherwise
        (row_sum(512, 1), "X_red", False),
        (matmul(4, 4, 512), "C", True),
        (matmul(64, 64, 64), "C", False),  # enough rows and columns
    ],
)
def test_reductions_run_in_parallel(func: PrimFunc, name: str, wanted: bool) -> None:
    sch = Schedule(func)
    place = sch.get_sref(sch.get_block(name))
    assert q.needs_parallel_reduction(sch.state, place, 128) is wanted


def test_space_and_reduction() -> None:
    sch = Schedule(matmul(4, 6, 8))
    place = sch.get_sref(sch.get_block("C"))
    assert q.space_and_reduction(sch.state, place) == (24, 8)
    assert q.space_and_reduction(sch.state, sch.get_sref(sch.get_block("root"))) is None


def test_spatial_functions() -> None:
    assert q.is_spatial_func(add_one())
    assert not q.is_spatial_func(softmax())


def test_order_of_indices() -> None:
    sch = Schedule(softmax())
    norm: Block = sch.get(sch.get_block("T_softmax_norm"))
    orders = [q.index_order(region, norm.writes[0]) for region in norm.reads]
    assert all(order is not None and order.ordered for order in orders)
    sums: Block = sch.get(sch.get_block("T_softmax_expsum"))
    assert q.index_order(sums.reads[0], sums.writes[0]) is None
    assert q.is_write_cache(sch.get_sref(sch.get_block("T_softmax_norm")))
    assert not q.is_write_cache(sch.get_sref(sch.get_block("T_softmax_expsum")))
