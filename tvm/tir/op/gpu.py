"""Operators that only GPUs and matrix units have: synchronisation, shuffles, matrix fragments."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.expr import HANDLE

from .declare import OPAQUE, PURE, intrinsic

Operand = Any

_OPAQUE_NAMES = (
    "tvm_storage_sync", "tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down",
    "tvm_warp_activemask", "tvm_global_barrier_kinit", "tvm_thread_allreduce",
    "tvm_load_matrix_sync", "tvm_mma_sync", "tvm_bmma_sync", "tvm_fill_fragment",
    "tvm_store_matrix_sync", "create_barriers", "make_filled_simdgroup_matrix", "simdgroup_load",
    "simdgroup_store", "simdgroup_multiply_accumulate", "ptx_commit_group", "ptx_wait_group",
    "ptx_cp_async_barrier", "ptx_init_barrier_thread_count", "ptx_arrive_barrier",
    "ptx_arrive_barrier_expect_tx", "ptx_wait_barrier",
)  # fmt: skip
_TYPED_NAMES = (
    "ptx_mma", "ptx_mma_sp", "ptx_ldmatrix", "ptx_cp_async", "ptx_cp_async_bulk", "mma_store",
    "mma_fill", "ptx_ldg32",
)  # fmt: skip
for _name in _OPAQUE_NAMES:
    intrinsic(_name, OPAQUE)
for _name in _TYPED_NAMES:
    intrinsic(_name, OPAQUE, dtype_at="first")
intrinsic("tvm_thread_context", PURE, 1)
intrinsic("tvm_thread_invariant", PURE, 1)
for _name in ("__activemask", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync"):
    intrinsic(f"cuda.{_name}", OPAQUE)
for _name in ("simd_shuffle", "simd_shuffle_up", "simd_shuffle_down"):
    intrinsic(f"metal.{_name}", OPAQUE)
del _name


def tvm_storage_sync(storage_scope: str) -> PrimExpr:
    """Wait until all threads that share a memory scope are here."""
    return e.Call("int", "tir.tvm_storage_sync", (storage_scope,))


def tvm_thread_allreduce(*freduce_args: Operand) -> PrimExpr:
    """Reduce a value over the threads of a block."""
    return e.Call(HANDLE, "tir.tvm_thread_allreduce", freduce_args)


def tvm_thread_invariant(cond: Operand) -> PrimExpr:
    """Mark a condition that is the same for all threads."""
    value = e.as_expr(cond)
    return e.Call(value.dtype, "tir.tvm_thread_invariant", (value,))


def _shuffle(name: str, mask: Operand, value: Operand, *rest: Operand) -> PrimExpr:
    moved = e.as_expr(value)
    return e.Call(moved.dtype, f"tir.{name}", (mask, moved, *rest))


def tvm_warp_shuffle(
    mask: Operand, value: Operand, warp_id: Operand, width: Operand, warp_size: Operand
) -> PrimExpr:
    """The value of another thread of the warp."""
    return _shuffle("tvm_warp_shuffle", mask, value, warp_id, width, warp_size)


def tvm_warp_shuffle_up(
    mask: Operand, value: Operand, offset: Operand, width: Operand, warp_size: Operand
) -> PrimExpr:
    """The value of the thread `offset` lanes lower."""
    return _shuffle("tvm_warp_shuffle_up", mask, value, offset, width, warp_size)


def tvm_warp_shuffle_down(
    mask: Operand, value: Operand, offset: Operand, width: Operand, warp_size: Operand
) -> PrimExpr:
    """The value of the thread `offset` lanes higher."""
    return _shuffle("tvm_warp_shuffle_down", mask, value, offset, width, warp_size)


def tvm_warp_activemask() -> PrimExpr:
    """The mask of the active threads of the warp."""
    return e.Call("uint32", "tir.tvm_warp_activemask", ())


def _handle_call(name: str, *args: Operand) -> PrimExpr:
    return e.Call(HANDLE, f"tir.{name}", args)


def tvm_load_matrix_sync(
    fragment: Operand, m: Operand, n: Operand, k: Operand, index: Operand, buffer_ptr: Operand,
    stride: Operand, layout: Operand,
) -> PrimExpr:  # fmt: skip
    """Load a matrix fragment."""
    return _handle_call(
        "tvm_load_matrix_sync", fragment, m, n, k, index, buffer_ptr, stride, layout
    )


def tvm_mma_sync(
    fragment_d: Operand, index_d: Operand, fragment_a: Operand, index_a: Operand,
    fragment_b: Operand, index_b: Operand, fragment_c: Operand, index_c: Operand,
) -> PrimExpr:  # fmt: skip
    """d = a * b + c on fragments."""
    args = (fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c)
    return _handle_call("tvm_mma_sync", *args)


def tvm_bmma_sync(
    fragment_d: Operand, index_d: Operand, fragment_a: Operand, index_a: Operand,
    fragment_b: Operand, index_b: Operand, fragment_c: Operand, index_c: Operand,
) -> PrimExpr:  # fmt: skip
    """d = popcount(a & b) + c on fragments of bits."""
    args = (fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c)
    return _handle_call("tvm_bmma_sync", *args)


def tvm_fill_fragment(
    fragment: Operand, m: Operand, n: Operand, k: Operand, index: Operand, value: Operand
) -> PrimExpr:
    """Fill a fragment with a value."""
    return _handle_call("tvm_fill_fragment", fragment, m, n, k, index, value)


def tvm_store_matrix_sync(
    fragment: Operand, m: Operand, n: Operand, k: Operand, index: Operand, buffer_ptr: Operand,
    stride: Operand, layout: Operand,
) -> PrimExpr:  # fmt: skip
    """Store a matrix fragment."""
    return _handle_call(
        "tvm_store_matrix_sync", fragment, m, n, k, index, buffer_ptr, stride, layout
    )


def ptx_mma(
    dtype: Any, shape: str, A_layout: str, B_layout: str, A_dtype: str, B_dtype: str, C_dtype: str,
    multiplicand_a: Operand, a_index: Operand, multiplicand_b: Operand, b_index: Operand,
    accumulator: Operand, c_index: Operand, saturate: Operand, operator: Any = None,
) -> PrimExpr:  # fmt: skip
    """The PTX instruction mma.sync."""
    args = (shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index,
            multiplicand_b, b_index, accumulator, c_index, saturate)  # fmt: skip
    return e.Call(dtype, "tir.ptx_mma", args if operator is None else (*args, operator))


def ptx_mma_sp(
    dtype: Any, shape: str, A_layout: str, B_layout: str, A_dtype: str, B_dtype: str, C_dtype: str,
    multiplicand_a: Operand, a_index: Operand, multiplicand_b: Operand, b_index: Operand,
    accumulator: Operand, c_index: Operand, metadata: Operand, meta_index: Operand,
    sparse_selector: Operand, saturate: Operand,
) -> PrimExpr:  # fmt: skip
    """The PTX instruction mma.sp.sync."""
    args = (shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index,
            multiplicand_b, b_index, accumulator, c_index, metadata, meta_index, sparse_selector,
            saturate)  # fmt: skip
    return e.Call(dtype, "tir.ptx_mma_sp", args)


def mma_store(
    dtype: Any, m: Operand, n: Operand, dst_ptr: Operand, src_ptr: Operand, src_offset: Operand,
    dst_stride: Operand,
) -> PrimExpr:  # fmt: skip
    """Store the result of mma in memory."""
    return e.Call(dtype, "tir.mma_store", (m, n, dst_ptr, src_ptr, src_offset, dst_stride))


def mma_fill(dtype: Any, local_size: Operand, local_ptr: Operand, offset: Operand) -> PrimExpr:
    """Fill the registers of an mma fragment with zero."""
    return e.Call(dtype, "tir.mma_fill", (local_size, local_ptr, offset))


def ptx_ldmatrix(
    dtype: Any, trans: Operand, num: Operand, type: Operand, local_ptr: Operand,
    local_offset: Operand, smem_ptr: Operand, smem_offset: Operand,
) -> PrimExpr:  # fmt: skip
    """The PTX instruction ldmatrix."""
    args = (trans, num, type, local_ptr, local_offset, smem_ptr, smem_offset)
    return e.Call(dtype, "tir.ptx_ldmatrix", args)


def ptx_cp_async(
    dtype: Any, shared_ptr: Operand, shared_offset: Operand, global_ptr: Operand,
    global_offset: Operand, bytes: Operand, predicate: Operand | None = None,
) -> PrimExpr:  # fmt: skip
    """The PTX instruction cp.async; where the predicate is false it writes zeros."""
    args = (shared_ptr, shared_offset, global_ptr, global_offset, bytes)
    return e.Call(dtype, "tir.ptx_cp_async", args if predicate is None else (*args, predicate))


def ptx_cp_async_bulk(
    dtype: Any, shared_ptr: Operand, shared_offset: Operand, global_ptr: Operand,
    global_offset: Operand, bytes: Operand, barrier_id: Operand,
) -> PrimExpr:  # fmt: skip
    """The PTX instruction cp.async.bulk."""
    args = (shared_ptr, shared_offset, global_ptr, global_offset, bytes, barrier_id)
    return e.Call(dtype, "tir.ptx_cp_async_bulk", args)


def ptx_commit_group() -> PrimExpr:
    """The PTX instruction cp.async.commit_group."""
    return e.Call("", "tir.ptx_commit_group", ())


def ptx_wait_group(num: Operand) -> PrimExpr:
    """The PTX instruction cp.async.wait_group."""
    return e.Call("", "tir.ptx_wait_group", (num,))


def ptx_cp_async_barrier(barrier_id: Operand) -> PrimExpr:
    """The PTX instruction cp.async.mbarrier.arrive."""
    return e.Call("", "tir.ptx_cp_async_barrier", (barrier_id,))


def ptx_init_barrier_thread_count(barrier_id: Operand, thread_count: Operand) -> PrimExpr:
    """The PTX instruction mbarrier.init."""
    return e.Call("", "tir.ptx_init_barrier_thread_count", (barrier_id, thread_count))


def ptx_arrive_barrier(barrier_id: Operand) -> PrimExpr:
    """The PTX instruction mbarrier.arrive."""
    return e.Call("", "tir.ptx_arrive_barrier", (barrier_id,))


def ptx_arrive_barrier_expect_tx(barrier_id: Operand, byte_count: Operand) -> PrimExpr:
    """The PTX instruction mbarrier.arrive.expect_tx."""
    return e.Call("", "tir.ptx_arrive_barrier_expect_tx", (barrier_id, byte_count))


def ptx_wait_barrier(barrier_id: Operand) -> PrimExpr:
    """Wait on an mbarrier."""
    return e.Call("", "tir.ptx_wait_barrier", (barrier_id,))


def create_barriers(barrier_count: Operand) -> PrimExpr:
    """Make mbarriers."""
    return e.Call("", "tir.create_barriers", (barrier_count,))


def make_filled_simdgroup_matrix(
    d: Operand, index: Operand, value: Operand, col: int = 8, row: int = 8
) -> PrimExpr:
    """Fill a Metal simdgroup matrix."""
    return _handle_call("make_filled_simdgroup_matrix", d, index, value, col, row)


def simdgroup_load(
    d: Operand, index: Operand, ptr: Operand, stride: Operand, col: int = 8, row: int = 8,
    transpose_matrix: bool = False,
) -> PrimExpr:  # fmt: skip
    """Load a Metal simdgroup matrix."""
    return _handle_call("simdgroup_load", d, index, ptr, stride, col, row, transpose_matrix)


def simdgroup_store(
    d: Operand, index: Operand, ptr: Operand, stride: Operand, col: int = 8, row: int = 8,
    transpose_matrix: bool = False,
) -> PrimExpr:  # fmt: skip
    """Store a Metal simdgroup matrix."""
    return _handle_call("simdgroup_store", d, index, ptr, stride, col, row, transpose_matrix)


def simdgroup_multiply_accumulate(
    d: Operand, index_d: Operand, a: Operand, index_a: Operand, b: Operand, index_b: Operand,
    c: Operand, index_c: Operand,
) -> PrimExpr:  # fmt: skip
    """d = a * b + c on Metal simdgroup matrices."""
    args = (d, index_d, a, index_a, b, index_b, c, index_c)
    return _handle_call("simdgroup_multiply_accumulate", *args)


