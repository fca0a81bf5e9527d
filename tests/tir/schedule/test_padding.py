from __future__ import annotations

from tests.tir.schedule.cases import chain, elementwise, row_sum
from tvm import tir
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.padding import writer_to_widen


def widened(func: tir.PrimFunc, block: str) -> bool:
    """True if the writer of the block's buffer can run over a new layout."""
    return _ask(Schedule(func), block)


def _ask(sch: Schedule, block: str) -> bool:
    node = sch.get(sch.get_block(block))
    root = sch.get_sref(sch.get_block("root"))
    return writer_to_widen(sch.state, root, node.writes[0].buffer) is not None


def test_plain_stages() -> None:
    assert widened(elementwise(14), "B")
    assert widened(chain(), "C")


def test_reductions() -> None:
    assert widened(row_sum(), "B")


def test_shared_and_marked_loops() -> None:
    sch = Schedule(chain())
    sch.parallel(sch.get_loops("C")[0])
    assert not _ask(sch, "C")
    sch = Schedule(chain())
    sch.compute_at("B", sch.get_loops("C")[0])
    assert not _ask(sch, "C")
