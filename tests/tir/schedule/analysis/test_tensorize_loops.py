from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, matmul, row_sum
from tests.tir.schedule.primitive.test_tensorize import desc
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.schedule.analysis import TensorizeInfo, get_tensorize_loop_mapping


def mapped(sch: Schedule, allow_padding: bool = False) -> TensorizeInfo | None:
    return get_tensorize_loop_mapping(sch, sch.get_block("C"), desc, allow_padding)


def test_each_loop_has_its_partner() -> None:
    sch = Schedule(matmul())
    info = mapped(sch)
    partners = {sref.stmt.loop_var.name: d.loop_var.name for sref, d in info.loop_map.items()}
    assert partners == {"i": "i", "j": "j", "k": "k"}
    assert sorted(info.desc_loop_indexer.values()) == [0, 1, 2]
    assert info.block_iter_paddings is None


def test_any_order_of_loops() -> None:
    sch = Schedule(matmul())
    i, j, k = sch.get_loops("C")
    sch.reorder(k, j, i)
    info = mapped(sch)
    assert all(
        sref.stmt.loop_var.name == loop.loop_var.name for sref, loop in info.loop_map.items()
    )


def test_padding() -> None:
    sch = Schedule(matmul(7, 12, 10))
    assert mapped(sch) is None
    assert mapped(sch, allow_padding=True).block_iter_paddings == [4, 1, 4]
    sch.split(sch.get_loops("C")[0], factors=[None, 1])
    assert mapped(sch, allow_padding=True) is None  # only plain bindings can be padded


def test_other_blocks_do_not_fit() -> None:
    sch = Schedule(row_sum())
    assert get_tensorize_loop_mapping(sch, sch.get_block("B"), desc) is None
    with pytest.raises(ScheduleError, match="legal: loops with one block within"):
        get_tensorize_loop_mapping(sch, sch.get_block("B"), chain())
