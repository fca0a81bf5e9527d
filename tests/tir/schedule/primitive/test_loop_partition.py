from __future__ import annotations

from tests.tir.schedule.cases import chain, check, elementwise, matmul, open_schedule, refuses


def test_rest_is_a_part() -> None:
    func = elementwise(16, 8)
    sch = open_schedule(func)
    loops = sch.loop_partition(sch.get_loops("B")[0], factors=[2, 9])
    ranges = [(int(sch.get(x).min), int(sch.get(x).extent)) for x in loops]
    assert ranges == [(0, 2), (2, 9), (11, 5)]
    text = sch.mod.script()
    for name in ("B_i0_common", "B_i00_partition", "B_i02_partition", "B_i01"):
        assert f'T.block("{name}")' in text
    assert "for i01 in range(2, 11):" in text
    check(sch, func)


def test_open_factor_among_other_stages() -> None:
    func = chain()
    sch = open_schedule(func)
    first, last = sch.loop_partition(sch.get_loops("C")[1], factors=[None, 4])
    assert int(sch.get(first).extent) == 12
    sch.vectorize(last)
    sch.compute_inline("B")
    check(sch, func)


def test_signatures_of_parts() -> None:
    """Variables that are loops have their ranges; what is around a part says nothing."""
    sch = open_schedule(elementwise(16, 8))
    sch.loop_partition(sch.get_loops("B")[0], factors=[3, None])
    block = sch.get(sch.get_block("B_i01"))
    assert str(block.iter_vars[0].dom) == "I.Range(3, 16)"
    assert [str(r) for r in (*block.reads, *block.writes)] == ["A[3:16, 0:8]", "B[3:16, 0:8]"]
    for name in ("B_i0_common", "B_i01_partition"):
        around = sch.get(sch.get_block(name))
        assert not [*around.reads, *around.writes]


def test_bindings_of_divided_loops_stay() -> None:
    func = elementwise(16, 8)
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("B")[0], factors=[None, 2])
    sch.loop_partition(outer, factors=[3, None])
    text = sch.mod.script()
    assert "T.axis.spatial(16, i0_01 * 2 + i0_1)" in text
    assert "T.reads(A[v_i0, v_i1])" in text
    check(sch, func)


def test_parts_are_reindexed() -> None:
    func = elementwise(12, 8)
    sch = open_schedule(func)
    sch.loop_partition(sch.get_loops("B")[0], [5, None])
    sch.reindex("B_i01", ("read", 0))
    sch.reindex("B_i01", ("write", 0))
    check(sch, func)


def test_reduction_without_its_init() -> None:
    func = matmul()
    sch = open_schedule(func)
    k = sch.get_loops("C")[2]
    message = refuses(sch, "block 'C' reduces over the loop 'k'", "loop_partition", k, [4])
    assert "decompose_reduction first" in message
    sch.decompose_reduction("C", k)
    sch.loop_partition(k, factors=[4, None])
    check(sch, func)


def test_too_many_iterations() -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    refuses(sch, "of the loop 'i0' with extent 16, which leaves -2", "loop_partition", i, [10, 8])
    refuses(sch, "which leaves 0", "loop_partition", i, [16, None])
    refuses(sch, "which leaves 0", "loop_partition", i, [4, 12])
    refuses(sch, "2 of 2 factors are None", "loop_partition", i, [None, None])
