from __future__ import annotations

import numpy as np

from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.interp.launch import launched_at_once


@T.prim_func
def exchanged(A: T.Buffer((4, 2), "int32"), B: T.Buffer((4, 2), "int32")):  # type: ignore[no-untyped-def]
    ty = T.launch_thread("threadIdx.y", 4)
    S = T.decl_buffer((8,), "int32", scope="shared")
    with T.launch_thread("threadIdx.x", 2) as tx:
        S[ty * 2 + tx] = A[ty, tx]
        T.tvm_storage_sync("shared")
        B[ty, tx] = S[7 - ty * 2 - tx]


def test_all_threads_are_there_from_the_start() -> None:
    a = np.arange(8, dtype="int32").reshape(4, 2)
    b = np.zeros_like(a)
    run(exchanged, a, b)
    np.testing.assert_array_equal(b, a[::-1, ::-1])


def test_launches_move_to_the_top() -> None:
    text = str(exchanged.with_body(launched_at_once(exchanged.body)))
    assert text.index('"threadIdx.x"') < text.index("decl_buffer")


def test_kernels_in_one_piece_stay() -> None:
    @T.prim_func
    def plain(A: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
        tx = T.launch_thread("threadIdx.x", 4)
        A[tx] = tx

    assert launched_at_once(plain.body) is plain.body


def test_memory_between_launches_is_of_each_thread() -> None:
    @T.prim_func
    def func(a: T.handle, b: T.handle) -> None:
        n = T.int32()
        A, B = T.match_buffer(a, (n, 4), "int32"), T.match_buffer(b, (n, 4), "int32")
        T.launch_thread("blockIdx.y", 1)
        own = T.allocate([1], "int32", "local")
        given = T.allocate([4], "int32", "shared")
        block = T.launch_thread("blockIdx.x", n)
        ty = T.launch_thread("threadIdx.y", 2)
        tx = T.launch_thread("threadIdx.x", 2)
        O = T.Buffer((1,), "int32", data=own, scope="local")
        G = T.Buffer((4,), "int32", data=given, scope="shared")
        O[0] = 0
        for k in range(2):
            T.tvm_storage_sync("shared")
            G[ty * 2 + tx] = A[block, ty * 2 + tx] * (k + 1)
            T.tvm_storage_sync("shared")
            O[0] = O[0] + G[3 - ty * 2 - tx]
        B[block, ty * 2 + tx] = O[0]

    values = np.arange(12, dtype="int32").reshape(3, 4)
    out = np.zeros((3, 4), "int32")
    run(func, values, out)
    np.testing.assert_array_equal(out, values[:, ::-1] * 3)
