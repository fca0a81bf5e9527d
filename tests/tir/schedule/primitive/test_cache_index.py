from __future__ import annotations

import pytest

from tests.tir.schedule.cases import check, check_native, elementwise, open_schedule, refuses
from tvm import te, tir, topi
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol


@T.prim_func
def spread(A: T.Buffer((1, 3, 6, 6), "float32"), B: T.Buffer((1, 3, 12, 12), "float32")) -> None:
    for i0, i1, i2, i3 in T.grid(1, 3, 12, 12):
        with T.block("B"):
            n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(A[n, c, vi // 4 + vj // 4, vj // 2])
            T.writes(B[n, c, vi, vj])
            B[n, c, vi, vj] = A[n, c, vi // 4 + vj // 4, vj // 2]


@T.prim_func
def spread_with_indices(
    A: T.Buffer((1, 3, 6, 6), "float32"), B: T.Buffer((1, 3, 12, 12), "float32")
) -> None:
    index_var_0 = T.alloc_buffer((12, 12), "int32", strides=[1])
    index_var_1 = T.alloc_buffer((12,), "int32", strides=[1])
    for ax0, ax1 in T.grid(12, 12):
        with T.block("index_0"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            index_var_0[v0, v1] = v0 // 4 + v1 // 4
    for ax0 in range(12):
        with T.block("index_1"):
            v0 = T.axis.spatial(12, ax0)
            index_var_1[v0] = v0 // 2
    for i0, i1, i2, i3 in T.grid(1, 3, 12, 12):
        with T.block("B"):
            n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(A[n, c, vi // 4 + vj // 4, vj // 2])
            T.writes(B[n, c, vi, vj])
            B[n, c, vi, vj] = A[n, c, index_var_0[vi, vj], index_var_1[vj]]


def test_each_index_has_a_buffer() -> None:
    sch = open_schedule(spread)
    blocks = sch.cache_index("B", "global", 1)
    assert [sch.get(block).name_hint for block in blocks] == ["index_0", "index_1"]
    assert_structural_equal_ignore_global_symbol(sch.mod["main"], spread_with_indices)
    check(sch, spread)


def test_default_keeps_all() -> None:
    sch = open_schedule(spread)
    sch.cache_index("B", "global")
    assert_structural_equal_ignore_global_symbol(sch.mod["main"], spread_with_indices)
    assert 'sch.cache_index(block=b0, storage_scope="global", cse_thresh=0)' in str(sch.trace)


def test_parts_that_repeat() -> None:
    x = te.placeholder((1, 2, 6, 6), name="x")
    made = topi.image.resize2d(x, (0.0, 0.0, 6.0, 6.0), (9, 9), "NCHW", "linear")
    func = te.create_prim_func([x, made])
    sch = open_schedule(func)
    first, second = sch.cache_index("resize", "global", 4)
    assert "T.max(T.min(index_var_0[v_i2] + 1, 5), 0)" in sch.mod.script()
    assert [len(sch.get(b).iter_vars) for b in (first, second)] == [1, 1]
    sch.parallel(sch.get_loops(first)[0])
    check(sch, func)


def test_without_computed_indices() -> None:
    func = elementwise(8, 8)
    sch = open_schedule(func)
    before = sch.mod
    assert sch.cache_index("B", "global") == []
    assert sch.mod is before
    check(sch, func)


def test_indices_of_a_gather() -> None:
    a = te.placeholder((8,), name="A")
    which = te.placeholder((8,), dtype="int32", name="which")
    b = te.compute((4,), lambda i: a[which[i * 2] // 2], name="B")
    func = te.create_prim_func([a, which, b])
    sch = open_schedule(func)
    (block,) = sch.cache_index("B", "global")  # that of `which`; the other depends on data
    assert isinstance(sch.get(block).body.value, tir.Mul)


def test_the_indices_stay_before_the_block() -> None:
    sch = open_schedule(spread)
    first, _ = sch.cache_index("B", "global")
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["index_0", "index_1", "B"]
    sch.compute_inline(first)
    check(sch, spread)


@T.prim_func
def skewed(A: T.Buffer((40, 40), "float32"), B: T.Buffer((12, 12), "float32")) -> None:
    for i, j in T.grid(12, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 3, vj // 2] + A[vi // 3 * 2, vj * 2 + vi // 3 * 2]


def test_the_largest_index_is_first_and_its_variables_in_the_order_of_use() -> None:
    sch = open_schedule(skewed)
    blocks = [sch.get(b) for b in sch.cache_index("B", "global")]
    indices = [str(block.body.value) for block in blocks]
    assert indices == ["v0 * 2 + v1 // 3 * 2", "v0 // 3 * 2", "v0 // 3", "v0 // 2"]
    assert "index_var_0[vj, vi]" in sch.mod.script()
    check(sch, skewed)


def test_refusals() -> None:
    sch = open_schedule(spread)
    refuses(sch, "storage scope", "cache_index", sch.get_block("B"), "test_scope")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        sch.cache_index("B")


@pytest.mark.cpu
def test_native() -> None:
    sch = open_schedule(spread)
    sch.cache_index("B", "global")
    check_native(sch, spread)
