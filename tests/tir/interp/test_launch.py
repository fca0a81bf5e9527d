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
