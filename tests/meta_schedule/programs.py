"""Small programs to tune."""

from __future__ import annotations

from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Matmul:
    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        A = T.match_buffer(a, (64, 64), "float32")
        B = T.match_buffer(b, (64, 64), "float32")
        C = T.match_buffer(c, (64, 64), "float32")
        for i, j, k in T.grid(64, 64, 64):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@I.ir_module
class Add:
    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        A = T.match_buffer(a, (32,), "float32")
        B = T.match_buffer(b, (32,), "float32")
        C = T.match_buffer(c, (32,), "float32")
        for i in range(32):
            with T.block("add"):
                vi = T.axis.spatial(32, i)
                C[vi] = A[vi] + B[vi]
