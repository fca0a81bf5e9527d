from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tvm
from tvm import te, tir, topi
from tvm.script import tir as T
from tvm.support.dtype import DataType
from tvm.tir import TensorIntrin, interp
from tvm.tir.analysis import undefined_vars
from tvm.tir.index_dtype import with_index_dtype

pytestmark = pytest.mark.pure
INT64 = DataType("int64")


@T.prim_func(private=True)
def narrow(a: T.handle, b: T.handle, n: T.int32) -> None:
    s0 = T.int32()
    A = T.match_buffer(a, (16,), "int32", strides=(s0,), offset_factor=1)
    B = T.match_buffer(b, (16,), "int32")
    for i in range(8):
        with T.block("pair"):
            v = T.axis.spatial(8, i)
            T.reads(A[v * 2 : v * 2 + 2])
            T.writes(B[v * 2 : v * 2 + 2])
            if v < n:
                B[v * 2 : v * 2 + 2] = A[v * 2 : v * 2 + 2]
            else:
                B[v * 2] = T.if_then_else(s0 > 1, n, 3)
            T.evaluate(T.call_extern("void", "f", A.data, A.elem_offset // s0 * 4, 16))


@T.prim_func(private=True)
def wide(a: T.handle, b: T.handle, n: T.int64) -> None:
    s0 = T.int64()
    A = T.match_buffer(a, (T.int64(16),), "int32", strides=(s0,), offset_factor=1)
    B = T.match_buffer(b, (T.int64(16),), "int32")
    for i in range(T.int64(8)):
        with T.block("pair"):
            v = T.axis.spatial(T.int64(8), i)
            T.reads(A[v * T.int64(2) : v * T.int64(2) + T.int64(2)])
            T.writes(B[v * T.int64(2) : v * T.int64(2) + T.int64(2)])
            if v < n:
                B[v * T.int64(2) : v * T.int64(2) + T.int64(2)] = A[
                    v * T.int64(2) : v * T.int64(2) + T.int64(2)
                ]
            else:
                B[v * T.int64(2)] = T.Cast(
                    "int32", T.if_then_else(s0 > T.int64(1), n, T.int64(3))
                )
            T.evaluate(
                T.call_extern(
                    "void", "f", A.data, T.Cast("int32", A.elem_offset // s0 * T.int64(4)), 16
                )
            )


def test_indices_become_wide_and_values_stay() -> None:
    tvm.ir.assert_structural_equal(with_index_dtype(narrow, INT64), wide, map_free_vars=True)


def test_indices_that_fit_stay() -> None:
    tvm.ir.assert_structural_equal(with_index_dtype(narrow, DataType("int32")), narrow)
    tvm.ir.assert_structural_equal(with_index_dtype(wide, INT64), wide)


def test_code_of_an_intrinsic_follows_the_block() -> None:
    @T.prim_func(private=True)
    def set_to_zero(n: T.int64) -> None:
        C = T.alloc_buffer((n * T.int64(16), T.int64(16)), "float16", scope="wmma.accumulator")
        for o, i, j in T.grid(n, T.int64(16), T.int64(16)):
            with T.block("zero"):
                v = T.axis.spatial(n * T.int64(16), o * T.int64(16) + i)
                vj = T.axis.spatial(T.int64(16), j)
                C[v, vj] = T.float16(0)

    sch = tvm.tir.Schedule(set_to_zero)
    sch.tensorize(sch.get_loops("zero")[1], "wmma_fill_16x16x16_f16")
    text = sch.mod["main"].script()
    assert '(T.int64(16), T.int64(16)), "float16", strides=("d1", "d0")' in text
    assert "C_1.elem_offset // C_1.strides[0] // T.int64(16) * (C_1.strides[0] // " in text
    assert "offset_factor=16" in text
    assert "T.tvm_fill_fragment(C_1.data, 16, 16, 16, " in text


@pytest.mark.parametrize("name", [
    "dot_4x4_i8i8s32_neon", "dot_16x4_vnni", "dp4a_s8s8s32", "mma_f16f16f32_trans_b",
    "mma_fill_16x16_f32", "mma_i8i8i32", "mma_ldmatrix_i8_b_trans", "mma_store_16x16_f32_global_",
    "ROCM_mfma_fill_16x16_f32", "rocm_mfma_f16f16f32", "rocm_mfma_load_16x4_a_shared_f32",
    "simdgroup_multiply_accumulate_8x8x8_f16", "wmma_sync_16x16x16_f16f16f32_trans",
])  # fmt: skip
def test_programs_of_wide_indices_match_descriptions(name: str) -> None:
    desc = TensorIntrin.get(name).desc
    sch = tvm.tir.Schedule(with_index_dtype(desc, INT64).with_attr("global_symbol", "main"))
    (block,) = sch.get_child_blocks(sch.get_block("root"))
    loops = sch.get_loops(block)
    sch.tensorize(loops[0] if loops else block, name)
    func = sch.mod["main"]
    tvm.tir.analysis.verify_well_formed(func)
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func, True)


def test_indices_become_int64() -> None:
    @T.prim_func
    def main(
        A: T.Buffer((T.int64(2), T.int64(4)), "float32"),
        T_reshape: T.Buffer((T.int64(4), T.int64(2)), "float32"),
    ):
        T.func_attr({"tir.noalias": True})
        for i0, i1 in T.grid(T.int64(4), T.int64(2)):
            with T.block("T_reshape"):
                ax0, ax1 = T.axis.remap("SS", [i0, i1])
                T.reads(
                    A[
                        (ax0 * T.int64(2) + ax1) % T.int64(8) // T.int64(4),
                        (ax0 * T.int64(2) + ax1) % T.int64(4),
                    ]
                )
                T.writes(T_reshape[ax0, ax1])
                T_reshape[ax0, ax1] = A[
                    (ax0 * T.int64(2) + ax1) % T.int64(8) // T.int64(4),
                    (ax0 * T.int64(2) + ax1) % T.int64(4),
                ]

    a = te.placeholder((2, 4), name="A")
    func = te.create_prim_func([a, topi.reshape(a, (4, 2))], index_dtype_override="int64")
    tvm.ir.assert_structural_equal(func, main)


def test_values_keep_their_type() -> None:
    i = te.compute((5,), lambda x: x * 2 + 1, name="i")
    func = te.create_prim_func([i], "int64")
    out = np.empty(5, "int32")
    interp.run(func, out)
    np.testing.assert_array_equal(out, [1, 3, 5, 7, 9])


def test_conditions_and_symbolic_extents() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: tir.if_then_else(i < n - 1, a[i + 1], 0.0), name="b")
    func = te.create_prim_func([n, a, b], "int64")
    assert func.params[0].dtype == "int64"
    kinds = {v.dtype for v in tir.functor.walk(func.body) if isinstance(v, tir.Var)}
    assert kinds == {"int64"}
    x, out = np.arange(4, dtype="float32"), np.empty(4, "float32")
    interp.run(func, 4, x, out)
    np.testing.assert_array_equal(out, [1, 2, 3, 0])


def test_what_a_let_binds_keeps_its_type() -> None:
    @T.prim_func
    def before(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        for i in range(8):
            at: T.int32 = a[i]
            b[at] = b[at] + at

    after = with_index_dtype(before, INT64)
    assert "at" not in [var.name for var in undefined_vars(after.body)]
    let = after.body.body
    assert str(let.var.dtype) == "int32"
    assert str(let.body.indices[0].dtype) == "int64"


def test_conditions_of_choices_compare_int32_as_indices() -> None:
    q, a = te.placeholder((4,), "int32", name="Q"), te.placeholder((4,), name="A")
    k = te.placeholder((4,), "int16", name="K")

    def made(*inputs: te.Tensor, of: Callable[[tir.Var], tir.PrimExpr]) -> str:
        stage = te.compute((4,), of, name="S")
        return te.create_prim_func([*inputs, stage], index_dtype_override="int64").script()

    text = made(q, a, of=lambda i: tir.Select(q[i] > 2, a[i], 0.0))
    assert 'T.Select(T.int64(2) < T.Cast("int64", Q[v_i]), A[v_i], T.float32(0.0))' in text
    text = made(q, a, of=lambda i: tir.if_then_else(q[i] * 2 > q[i], a[i], 0.0))
    assert 'T.if_then_else(T.Cast("int64", Q[v_i]) < T.Cast("int64", Q[v_i]) * T.int64(2)' in text
    assert "Q[v_i] + 1" in made(q, of=lambda i: q[i] + 1)  # what is computed stays
    text = made(k, a, of=lambda i: tir.Select(k[i] > tir.const(1, "int16"), a[i], 0.0))
    assert "T.int16(1) < K[v_i]" in text
    # both sides are read: nothing turns them into indices
    two = te.placeholder((4,), "int32", name="K")
    text = made(q, two, a, of=lambda i: tir.Select(q[i] > two[i], a[i], 0.0))
    assert "T.Select(K[v_i] < Q[v_i], A[v_i], T.float32(0.0))" in text
    # no choice: a truth that is counted
    text = made(q, a, of=lambda i: a[q[i] + (q[i] < 0).astype("int32") * 4])
    assert 'A[T.Cast("int64", Q[v_i] < 0) * T.int64(4) + T.Cast("int64", Q[v_i])]' in text
