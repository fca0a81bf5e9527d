from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, matmul_relu, stencil
from tvm import tir
from tvm.arith import Analyzer
from tvm.error import TVMError
from tvm.ir.expr import Range
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.script import tir as T
from tvm.tir.expr import Var
from tvm.tir.op.arith import floordiv
from tvm.tir.schedule import Schedule, ScheduleDebugMask, ScheduleState
from tvm.tir.schedule.analysis.cover import _at_most, region_cover
from tvm.tir.schedule.analysis.verify import verify_tree


def body(state: ScheduleState) -> tir.SeqStmt:
    func = state.mod["main"]
    assert isinstance(func, tir.PrimFunc)
    return func.body.block.body


def test_places_of_all_blocks_and_loops() -> None:
    state = ScheduleState(chain())
    verify_tree(state)
    loop = body(state).seq[1]
    sref = state.get_sref(loop)
    assert sref.stmt is loop
    assert sref.seq_index == 1
    assert isinstance(sref.parent.stmt, tir.Block)
    assert state.get_sref(loop.body).parent is sref


def test_replace_keeps_what_stays() -> None:
    state = ScheduleState(chain())
    old = body(state).seq[0]
    place, inner = state.get_sref(old), state.get_sref(old.body)
    new = tir.For(old.loop_var, 0, old.extent, tir.ForKind.PARALLEL, old.body)
    state.replace(place, new)
    assert place.stmt is new
    assert inner.stmt is old.body
    assert inner.parent is place
    assert body(state).seq[0] is new
    verify_tree(state)


def test_replaced_blocks_are_mapped() -> None:
    state = ScheduleState(chain())
    realize = body(state).seq[0].body.body
    place = state.get_sref(realize.block)
    new = tir.Block(
        realize.block.iter_vars, realize.block.reads, realize.block.writes, "renamed",
        realize.block.body,
    )
    state.replace(place, new, {realize.block: new})
    assert place.stmt is new
    state.replace(place, realize.block)
    assert place.stmt is None
    with pytest.raises(TVMError, match="the sref is gone"):
        state.replace(place, new)
    with pytest.raises(TVMError, match="is not part of the scheduled module"):
        state.get_sref(new)
    verify_tree(state)


def test_copies() -> None:
    state = ScheduleState(chain())
    other, places = state.copy()
    loop = body(state).seq[0]
    new = tir.For(loop.loop_var, 0, loop.extent, tir.ForKind.PARALLEL, loop.body)
    other.replace(places[state.get_sref(loop)], new)
    assert state.get_sref(loop).stmt is loop
    assert body(other).seq[0] is new
    verify_tree(state)
    verify_tree(other)


def test_undo() -> None:
    state = ScheduleState(chain())
    before = state.mod
    loop = body(state).seq[0]
    place = state.get_sref(loop)
    state.begin()
    state.replace(place, loop.body)
    assert place.stmt is None
    state.undo()
    assert state.mod is before
    assert place.stmt is loop
    verify_tree(state)


def test_flags() -> None:
    sch = Schedule(matmul_relu(), debug_mask="all")
    flags = sch.state._get_cached_flags(sch.get_sref(sch.get_block("D")))
    assert (flags.affine_binding, flags.region_cover, flags.stage_pipeline) == (True, True, True)
    assert sch.state.debug_mask == (
        ScheduleDebugMask.VERIFY_SREF_TREE | ScheduleDebugMask.VERIFY_CACHED_FLAGS
    )


def test_uncovered_reads() -> None:
    sch = Schedule(stencil())
    (i,) = sch.get_loops("B")
    block = sch.get_sref(sch.get_block("C"))
    assert sch.state._get_cached_flags(block).region_cover
    shorter = tir.For(sch.get(i).loop_var, 0, 5, tir.ForKind.SERIAL, sch.get(i).body)
    sch.state.replace(sch.get_sref(i), shorter)
    assert not region_cover(sch.state, block, moved=block)
    assert sch.state._get_cached_flags(block).region_cover  # the flags of a schedule are kept
    anew = Schedule(sch.mod)
    assert not anew.state._get_cached_flags(anew.get_sref(anew.get_block("C"))).region_cover
    root = anew.get_sref(anew.get_block("root"))
    assert not anew.state._get_cached_flags(root).stage_pipeline


def test_divided_loops_of_a_copy_keep_its_readers_covered() -> None:
    """Fusing loops whose extents vary leaves indices that say nothing by themselves."""

    @T.prim_func
    def func(
        A: T.Buffer((4, 6), "float32"), W: T.Buffer((4,), "float32"), B: T.Buffer((4, 4), "float32")
    ) -> None:
        copied = T.alloc_buffer((4, 6))
        for i in range(4):
            for ax0, ax1 in T.grid(2, i % 2 + 2):
                with T.block("copied"):
                    vi = T.axis.spatial(4, i // 2 + ax0)
                    vj = T.axis.spatial(6, i // 2 + ax1)
                    copied[vi, vj] = A[vi, vj]
            for k, j in T.grid(2, 2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i // 2 + k)
                    vj = T.axis.spatial(4, i // 2 + j)
                    B[vi, vj] = copied[vi, vj] * W[vi]

    sch = Schedule(func)
    reader, root = sch.get_sref(sch.get_block("B")), sch.get_sref(sch.get_block("root"))
    assert sch.state._get_cached_flags(root).stage_pipeline
    _, ax0, ax1 = sch.get_loops("copied")
    sch.fuse(ax0, ax1)
    assert sch.state._get_cached_flags(root).stage_pipeline
    assert sch.state._get_cached_flags(reader).region_cover
    copy = sch.copy()
    flags = copy.state._get_cached_flags(copy.get_sref(copy.get_block("B")))
    assert flags.region_cover
    another = sch.cache_read("B", 1, "shared")  # one more maker leaves what is known of the first
    sch.compute_at(another, sch.get_loops("B")[0])
    assert sch.state._get_cached_flags(reader).region_cover


def test_one_statement_at_two_places() -> None:
    realize = body(ScheduleState(chain())).seq[0]
    root = tir.Block([], [], [], "root", tir.SeqStmt([realize, realize]))
    with pytest.raises(TVMError, match="occurs twice in the program"):
        ScheduleState(tir.PrimFunc([], tir.BlockRealize([], True, root)))


def test_one_function_under_two_names() -> None:
    func = chain()
    sch = Schedule(IRModule({"first": func, "second": func}))
    sch.work_on("second")
    sch.compute_inline("B")
    assert structural_equal(sch.mod["first"], func)
    assert not structural_equal(sch.mod["second"], func)
    sch.work_on("first")
    sch.compute_inline("B")
    assert structural_equal(sch.mod["first"], sch.mod["second"])


def test_functions_without_a_root_block() -> None:
    sch = tir.Schedule(tir.PrimFunc([], tir.Evaluate(1)))
    assert not list(sch.state.roots())
    with pytest.raises(TVMError, match="the body of 'main' is no block"):
        sch.get_block("B")


def test_quotients_that_differ_by_whole_steps() -> None:
    x, t = Var("x", "int32"), Var("t", "int32")
    analyzer = Analyzer()
    analyzer.bind(t, Range(0, 4))
    assert _at_most(analyzer, floordiv(x + 1, 2) + t, floordiv(x + 7, 2))
    assert not _at_most(analyzer, floordiv(x + 1, 2) + t, floordiv(x + 6, 2))
    assert _at_most(analyzer, floordiv(x - 3, 2), floordiv(x + 1, 2) - 2)


def test_what_is_no_statement_or_place_is_named() -> None:
    state = Schedule(chain()).state
    place = state.get_sref(state.mod["main"].body.block)
    for call, named in (
        (lambda: state.get_sref(3), "the statement is a int"),
        (lambda: state.replace(3, 4), "src_sref is a int"),
        (lambda: state.replace(place, 4), "tgt_stmt is a int"),
        (lambda: Schedule(chain(), seed="x"), "seed is a str"),
    ):
        with pytest.raises(TypeError, match=named):
            call()
