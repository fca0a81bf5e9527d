"""What a library does, as functions over any sizes."""

from __future__ import annotations

from tvm.script import tir as T


@T.prim_func
def matmul(
    a: T.handle, b: T.handle, c: T.handle, M: T.int64, N: T.int64, K: T.int64
) -> None:
    A = T.match_buffer(a, (M, K))
    B = T.match_buffer(b, (K, N))
    C = T.match_buffer(c, (M, N))
    for i, j, k in T.grid(M, N, K):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def bias(a: T.handle, b: T.handle, c: T.handle, M: T.int64, N: T.int64) -> None:
    A = T.match_buffer(a, (M, N))
    B = T.match_buffer(b, (N,))
    C = T.match_buffer(c, (M, N))
    for i, j in T.grid(M, N):
        with T.block("bias"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vj]
