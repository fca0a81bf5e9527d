from __future__ import annotations

import numpy as np
import pytest

from tests.tir.schedule.cases import check, elementwise, matmul, open_schedule, refuses
from tvm import te, tir
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import BlockRealize, For


def test_split_exactly() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, _, k = sch.get_loops("C")
    outer, inner = sch.split(i, factors=[None, 4])
    assert [sch.get(loop).extent for loop in (outer, inner)] == [2, 4]
    sch.split(k, factors=[2, None, 2])
    assert len(sch.get_loops(sch.get_block("C"))) == 6
    check(sch, func)


def test_a_remainder_gets_a_predicate() -> None:
    func = elementwise(10)
    sch = open_schedule(func)
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[None, 4])
    assert "T.where(i0_0 * 4 + i0_1 < 10)" in sch.mod.script()
    check(sch, func)


def test_without_predication() -> None:
    sch = open_schedule(elementwise(10))
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[None, 4], disable_predication=True)
    assert "T.where" not in sch.mod.script()


def test_symbolic_extent_that_divides_needs_no_predicate() -> None:
    n = te.var("n")
    a = te.placeholder((n * 8,), name="A")
    b = te.compute((n * 8,), lambda i: a[i] + 1.0, name="B")
    sch = open_schedule(te.create_prim_func([a, b]))
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[None, 4])
    assert "T.where" not in sch.mod.script()


def test_unit_loops_stay_in_the_binding() -> None:
    sch = open_schedule(elementwise(8))
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[1, 8])
    assert "i0_0 * 8 + i0_1" in sch.mod.script()


def _binding(sch: Schedule) -> str:
    body = sch.mod["main"].body.block.body
    (realize,) = (n for n in walk(body) if isinstance(n, BlockRealize))
    return str(realize.iter_values[0])


def test_parts_of_a_loop_of_one_iteration_stay_in_the_binding() -> None:
    sch = open_schedule(elementwise(1))
    outer, _ = sch.split(sch.get_loops("B")[0], factors=[1, 1])
    assert _binding(sch) == "i0_0 + i0_1"
    sch.split(outer, factors=[1, 1, 1])
    assert _binding(sch) == "i0_0_0 + i0_0_1 + i0_0_2 + i0_1"


def test_parts_beside_a_fused_loop_stay_in_the_binding() -> None:
    a = te.placeholder((1, 16), name="A")
    b = te.compute((1, 16), lambda i, j: a[i, j] + 1.0, name="B")
    sch = open_schedule(te.create_prim_func([a, b]))
    i, j = sch.get_loops("B")
    (i0, i1, i2), (j0, j1) = sch.split(i, [1, 1, 1]), sch.split(j, [4, 4])
    sch.reorder(i0, j0, i1, i2, j1)
    sch.fuse(i0, j0)
    assert _binding(sch) == "i_1 + i_2"


def test_what_only_the_predicate_holds_to_one_value_stays_in_the_binding() -> None:
    sch = open_schedule(elementwise(1))
    sch.split(sch.get_loops("B")[0], factors=[None, 32])
    assert _binding(sch) == "i0_0 * 32 + i0_1"
    assert "T.where(i0_0 * 32 + i0_1 < 1)" in sch.mod.script()


def test_factors_that_do_not_cover() -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    message = refuses(sch, "factors [4, 3] do not cover the loop", "split", i, [4, 3])
    assert "legal: leave one factor as None" in message
    assert "^^^" in message


@pytest.mark.parametrize(
    ("factors", "reason"),
    [
        ([None, None], "2 factors are None"),
        ([None, 0], "is not positive"),
        ([], "no factors"),
    ],
)
def test_bad_factors(factors: list[int | None], reason: str) -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    refuses(sch, reason, "split", i, factors)


def test_annotated_loops_are_not_split() -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    sch.annotate(i, "key", 1)
    refuses(sch, "has annotations", "split", i, [None, 4])


def test_int64_loops() -> None:
    a = te.placeholder((tir.IntImm("int64", 16),), name="A")
    shape = (tir.IntImm("int64", 16),)
    func = te.create_prim_func([a, te.compute(shape, lambda i: a[i] + 1.0, name="B")])
    sch = open_schedule(func)
    (i,) = sch.get_loops("B")
    loop: For = sch.get(sch.split(i, factors=[None, 4])[1])
    assert loop.loop_var.dtype == "int64"
    check(sch, func)


@T.prim_func
def any_shape(a: T.handle, b: T.handle, n: T.int32, m: T.int32) -> None:
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n, m))
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


def test_symbolic_loops_fused_and_split_stay_affine() -> None:
    sch = open_schedule(any_shape)
    outer, inner = sch.split(sch.fuse(*sch.get_loops("B")), factors=[None, 64])
    block = sch.get_sref(sch.get_block("B"))
    assert sch.state._get_cached_flags(block).affine_binding
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    given = np.random.default_rng(0).standard_normal((7, 13)).astype("float32")
    made = np.zeros_like(given)
    run(sch.mod["main"], given, made, 7, 13)
    np.testing.assert_array_equal(made, given * 2)


def test_symbolic_tiles_fused_and_split_again() -> None:
    sch = open_schedule(any_shape)
    i, j = sch.get_loops("B")
    (io, ii), (jo, ji) = sch.split(i, factors=[None, 64]), sch.split(j, factors=[16, None])
    sch.reorder(io, jo, ii, ji)
    sch.split(sch.fuse(ii, ji), factors=[None, 32])
    block = sch.get_sref(sch.get_block("B"))
    assert sch.state._get_cached_flags(block).affine_binding


def test_a_symbolic_factor_that_divides() -> None:
    n = te.var("n")
    a = te.placeholder((n * 64,), name="A")
    b = te.compute((n * 64,), lambda i: a[i] + 1.0, name="B")
    sch = open_schedule(te.create_prim_func([a, b]))
    extent = sch.get(sch.get_loops("B")[0]).extent
    size = next(part for part in walk(extent) if isinstance(part, tir.Var))
    outer, _ = sch.split(sch.get_loops("B")[0], factors=[None, size])
    assert sch.get(outer).extent == 64


def test_scalable_factors_need_a_target_that_has_them() -> None:
    func = elementwise(128)
    factors = [tir.ceildiv(128, 4 * tir.vscale()), 4 * tir.vscale()]
    text = "is not larger than or equal to the extent of loop tir.For#0"
    refuses(sch := open_schedule(func), text, "split", sch.get_loops("B")[0], factors)
    with Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v9a,+sve"):
        sch.split(sch.get_loops("B")[0], factors=factors)
    assert "T.where(i0_0 * (T.vscale() * 4) + i0_1 < 128)" in sch.mod.script()
    assert "T.axis.spatial(128, i0_0 * (T.vscale() * 4) + i0_1)" in sch.mod.script()


def test_fused_loops_stay_whole_when_they_are_split() -> None:
    func = elementwise(512, 512)
    sch = open_schedule(func)
    sch.split(sch.fuse(*sch.get_loops("B")), factors=[None, 1024])
    text = sch.mod.script()
    assert "v_i0 = T.axis.spatial(512, (i0_i1_fused_0 * 1024 + i0_i1_fused_1) // 512)" in text
    assert "v_i1 = T.axis.spatial(512, (i0_i1_fused_0 * 1024 + i0_i1_fused_1) % 512)" in text


def test_tiles_of_one_element_name_their_loops() -> None:
    func = elementwise(128, 1)
    sch = open_schedule(func)
    i, j = sch.get_loops("B")
    sch.split(i, factors=[1, 1, 64, 2])
    sch.split(j, factors=[None, 1, 1])
    text = sch.mod.script()
    assert "T.axis.spatial(128, i0_0 * 128 + i0_1 * 128 + i0_2 * 2 + i0_3)" in text
    assert "T.axis.spatial(1, i1_0 + i1_1 + i1_2)" in text
    check(sch, func)


@pytest.mark.parametrize("preserve_unit_iters", [True, False])
def test_one_element_over_threads_is_written_back_by_one(preserve_unit_iters: bool) -> None:
    func = elementwise(3, 1)
    sch = open_schedule(func)
    block = sch.get_block("B")
    copy = sch.cache_write(block, 0, "local")
    one = sch.fuse(sch.get_loops(block)[1])
    _, tx, _ = sch.split(one, [None, 8, 2], preserve_unit_iters=preserve_unit_iters)
    sch.bind(tx, "threadIdx.x")
    sch.reverse_compute_at(copy, tx)
    text = sch.mod.script()
    assert text.count("T.axis.spatial(1, 0)") == 2
    assert "T.where(i1_fused_1 < 1)" in text
    check(sch, func)


def test_a_guarded_element_moves_into_another_loop() -> None:
    func = elementwise(3, 1)
    sch = open_schedule(func)
    block = sch.get_block("B")
    copy = sch.cache_write(block, 0, "local")
    sch.split(sch.get_loops(block)[1], [None, 8])
    sch.compute_at(block, sch.get_loops(copy)[0])
    assert "T.where" not in sch.mod.script()
    check(sch, func)
