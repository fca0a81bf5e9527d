"""Running sums along the rows of a matrix, each row by a block of threads.

A tile of the row is loaded at a time. A thread sums its own elements; the sums of the threads are
summed over the block by doubling distances (Hillis and Steele, 1986); what a tile sums to is
carried on to the next.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

import math

from tvm.tir.function import PrimFunc
from tvm.tir.script import language as T


def _is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


def block_of(ty_len: int, tx_len: int, thread_elem: int, name: str) -> tuple[int, int]:
    """The threads of a block, and how often distances double over them."""
    threads = ty_len * tx_len
    if not _is_power_of_two(threads) or thread_elem < 1:
        raise ValueError(
            f"{name}: found ty_len={ty_len}, tx_len={tx_len}, thread_elem={thread_elem}; "
            "legal: a number of threads that is a power of two, each with an element or more"
        )
    return threads, int(math.log2(threads))


def scan_of_block(thread_elem: int, steps: int, dtype: str):  # type: ignore[no-untyped-def]
    """A macro: own elements become running sums, and `sums` those of whole threads.

    The way is that of Hillis and Steele, "Data parallel algorithms" (1986).
    `own` are the elements of one thread, `sums` two arrays with a place for each thread, of which
    the steps read one and write the other; `t` is the number of the thread.
    """

    @T.macro
    def scan(own, sums, t):  # type: ignore[no-untyped-def]
        for e in T.unroll(1, thread_elem):
            own[e] = own[e] + own[e - 1]
        sums[0, t] = own[thread_elem - 1]
        for step in T.unroll(steps):
            T.tvm_storage_sync("shared")
            away: T.int32 = T.shift_left(1, step)
            sums[(step + 1) % 2, t] = sums[step % 2, t] + T.if_then_else(
                t >= away, sums[step % 2, t - away], T.cast(0, dtype)
            )
        T.tvm_storage_sync("shared")

    return scan


def gpu_2d_continuous_cumsum(
    ty_len: int = 4,
    tx_len: int = 32,
    thread_elem: int = 4,
    in_dtype: str = "int32",
    out_dtype: str | None = None,
) -> PrimFunc:
    """The kernel, (m, n) -> (m, n)."""
    out_dtype = out_dtype or in_dtype
    threads, steps = block_of(ty_len, tx_len, thread_elem, "gpu_2d_continuous_cumsum")
    tile = threads * thread_elem
    last = steps % 2  # of the two arrays of sums, the one that the last step writes
    scan = scan_of_block(thread_elem, steps, out_dtype)

    @T.prim_func(private=True)
    def cumsum(var_a: T.handle, var_out: T.handle):
        T.func_attr({"tir.is_scheduled": True, "tir.noalias": True})
        m, n = T.int64(), T.int64()
        A = T.match_buffer(var_a, [m, n], dtype=in_dtype)
        Out = T.match_buffer(var_out, [m, n], dtype=out_dtype)
        for row in T.thread_binding(m, thread="blockIdx.x"):
            for ty in T.thread_binding(ty_len, thread="threadIdx.y"):
                for tx in T.thread_binding(tx_len, thread="threadIdx.x"):
                    with T.block("scan"):
                        T.reads(A[row, 0:n])
                        T.writes(Out[row, 0:n])
                        sums = T.alloc_buffer((2, threads), out_dtype, scope="shared")
                        own = T.alloc_buffer((thread_elem,), out_dtype, scope="local")
                        carry = T.alloc_buffer((1,), out_dtype, scope="local")
                        t: T.int32 = ty * tx_len + tx
                        carry[0] = T.cast(0, out_dtype)
                        for part in T.serial(T.ceildiv(n, T.int64(tile))):
                            first: T.int64 = part * T.int64(tile) + T.Cast("int64", t * thread_elem)
                            for e in T.unroll(thread_elem):
                                own[e] = T.if_then_else(
                                    first + T.Cast("int64", e) < n,
                                    T.cast(A[row, first + T.Cast("int64", e)], out_dtype),
                                    T.cast(0, out_dtype),
                                )
                            scan(own, sums, t)
                            for e in T.unroll(thread_elem):
                                if first + T.Cast("int64", e) < n:
                                    Out[row, first + T.Cast("int64", e)] = (
                                        carry[0]
                                        + own[e]
                                        + T.if_then_else(
                                            t > 0,
                                            sums[last, t - 1],
                                            T.cast(0, out_dtype),
                                        )
                                    )
                            carry[0] = carry[0] + sums[last, threads - 1]
                            T.tvm_storage_sync("shared")

    return cumsum
