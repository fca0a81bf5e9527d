from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir import Range
from tvm.tir.transform.pipeline_queues import Part, Queues, with_queues

pytestmark = pytest.mark.pure

TRUE = tir.IntImm("bool", 1)


def part(
    stage: int, index: tir.PrimExpr, behind: bool, reads: list[tir.Buffer], writes: list[tir.Buffer]
) -> Part:
    zero = [tir.IntImm("int32", 0)]
    regions = [[tir.BufferRegion.from_point(b, zero) for b in some] for some in (reads, writes)]
    block = tir.Block([], *regions, "", tir.Evaluate(tir.IntImm("int32", 0)))
    return Part(stage, TRUE, block, index, behind)


def test_groups_on_both_sides_of_a_reader() -> None:
    """Copies to A and B run 3 ahead; B's stands behind the reader, so it is one group more."""
    a, b = tir.decl_buffer((4,), name="A"), tir.decl_buffer((4,), name="B")
    i = tir.Var("i", "int32")
    normal, analyzer = Analyzer(), Analyzer()
    normal.bind(i, Range(1, 13))
    queues = Queues(analyzer)
    queues.enter()
    parts = [
        queues.added(one, normal)
        for one in (
            part(0, i + 3, True, [], [a]), part(1, i, False, [a, b], []),
            part(0, i + 3, True, [], [b]),
        )
    ]  # fmt: skip
    stmts = with_queues(queues, parts, normal, {})
    assert len(stmts) == 3
    assert stmts[1].block.body.value.value == 0
    assert stmts[1].block.body.body.value.value == 3 + 2
    assert [s.block.body.attr_key for s in (stmts[0], stmts[2])] == ["async_commit_queue_scope"] * 2


def test_copies_side_by_side_are_one_group() -> None:
    a, b = tir.decl_buffer((4,), name="A"), tir.decl_buffer((4,), name="B")
    i = tir.Var("i", "int32")
    normal = Analyzer()
    queues = Queues(Analyzer())
    queues.enter()
    parts = [queues.added(part(0, i, True, [], [x]), normal) for x in (a, b)]
    (stmt,) = with_queues(queues, parts, normal, {})
    assert len(stmt.block.body.body.seq) == 2


def test_conditions_of_copies_side_by_side_are_combined_bit_by_bit() -> None:
    a, b = tir.decl_buffer((4,), name="A"), tir.decl_buffer((4,), name="B")
    i = tir.Var("i", "int32")
    normal, queues = Analyzer(), Queues(Analyzer())
    queues.enter()
    for x in (a, b):
        one = part(0, i, True, [], [x])
        queues.added(Part(0, tir.LT(i, tir.IntImm("int32", 1)), one.block, i, True), normal)
    assert str(queues.local[0].predicate) == "T.bitwise_and(i < 1, i < 1)"
