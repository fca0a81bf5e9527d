from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def test_allreduce_over_one_axis() -> None:
    @T.prim_func
    def func(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4,), "float32")):
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 8)
        R = T.allocate([1], "float32", "local")
        r = T.Buffer((1,), "float32", data=R, scope="local")
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.int32(0)
        ):
            T.tvm_thread_allreduce(T.uint32(1), a[ty, tx], tx != 3, r[0], tx)
        b[ty] = r[0]

    a, b = np.random.default_rng(0).random((4, 8), "float32"), np.zeros(4, "float32")
    interp.run(func, a, b)
    np.testing.assert_allclose(b, np.delete(a, 3, axis=1).sum(1), rtol=1e-6)


def test_allreduce_of_pairs() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "float32"), b: T.Buffer((1,), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        V = T.allocate([1], "float32", "local")
        v = T.Buffer((1,), "float32", data=V, scope="local")
        I = T.allocate([1], "int32", "local")
        i = T.Buffer((1,), "int32", data=I, scope="local")
        with T.attr(
            T.comm_reducer(
                lambda p, q, x, y: (T.Select(q >= y, p, x), T.Select(q >= y, q, y)),
                [T.int32(-1), T.float32(-1e30)],
            ),
            "reduce_scope",
            T.int32(0),
        ):
            T.tvm_thread_allreduce(T.uint32(2), tx, a[tx], T.bool(True), i[0], v[0], tx)
        b[0] = i[0]

    a = np.array([1, 4, 2, 9, 9, 3, 0, 1], "float32")
    b = np.zeros(1, "int32")
    interp.run(func, a, b)
    assert b[0] == 3


def test_allreduce_outside_of_its_scope() -> None:
    @T.prim_func
    def func(b: T.Buffer((1,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        T.tvm_thread_allreduce(T.uint32(1), T.float32(1), T.bool(True), b[0], tx)

    with pytest.raises(TVMError, match="outside of a reduce_scope"):
        interp.run(func, np.zeros(1, "float32"))


@pytest.mark.parametrize(
    ("kind", "argument", "wanted"),
    [
        ("tvm_warp_shuffle", 5, [5] * 8 + [13] * 8),
        ("tvm_warp_shuffle_up", 2, [0, 1, 0, 1, 2, 3, 4, 5, 8, 9, 8, 9, 10, 11, 12, 13]),
        ("tvm_warp_shuffle_down", 3, [3, 4, 5, 6, 7, 5, 6, 7, 11, 12, 13, 14, 15, 13, 14, 15]),
    ],
)
def test_shuffles(kind: str, argument: int, wanted: list[int]) -> None:
    shuffle = getattr(T, kind)

    @T.prim_func
    def func(a: T.Buffer((16,), "int32"), b: T.Buffer((16,), "int32")):
        tx = T.launch_thread("threadIdx.x", 16)
        mask = T.tvm_warp_activemask()
        b[tx] = shuffle(mask, a[tx], argument, 8, 32)

    a, b = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, wanted)


@pytest.mark.parametrize(
    ("name", "tail", "wanted"),
    [
        ("cuda.__shfl_sync", (5, 8), [5] * 8 + [13] * 8),
        ("cuda.__shfl_up_sync", (2, 8),
         [0, 1, 0, 1, 2, 3, 4, 5, 8, 9, 8, 9, 10, 11, 12, 13]),
        ("cuda.__shfl_down_sync", (3, 8),
         [3, 4, 5, 6, 7, 5, 6, 7, 11, 12, 13, 14, 15, 13, 14, 15]),
        ("metal.simd_shuffle", (5,), [5] * 16),
        ("metal.simd_shuffle_up", (14,), [*range(14), 0, 1]),
        ("metal.simd_shuffle_down", (14,), [14, 15, *range(2, 16)]),
    ],
)  # fmt: skip
def test_shuffles_as_devices_have_them(
    name: str, tail: tuple[int, ...], wanted: list[int]
) -> None:
    def call(value):
        mask = [tir.const(0xFFFFFFFF, "uint32")] if name.startswith("cuda") else []
        return tir.Call("int32", Op.get(f"tir.{name}"), [*mask, value, *tail])

    @T.prim_func
    def func(a: T.Buffer((16,), "int32"), b: T.Buffer((16,), "int32")):
        tx = T.launch_thread("threadIdx.x", 16)
        b[tx] = call(a[tx])

    out = np.zeros(16, "int32")
    interp.run(func, np.arange(16, dtype="int32"), out)
    assert out.tolist() == wanted


def test_a_part_of_a_warp_may_shuffle() -> None:
    @T.prim_func
    def func(b: T.Buffer((8,), "uint32")):
        tx = T.launch_thread("threadIdx.x", 8)
        if tx < 3:
            b[tx] = T.tvm_warp_activemask()
        T.tvm_storage_sync("shared")

    b = np.zeros(8, "uint32")
    interp.run(func, b)
    np.testing.assert_array_equal(b, [7, 7, 7, 0, 0, 0, 0, 0])


def test_matrix_fragments() -> None:
    @T.prim_func
    def func(
        a: T.Buffer((16, 16), "float16"),
        b: T.Buffer((16, 16), "float16"),
        c: T.Buffer((16, 16), "float32"),
    ):
        tx = T.launch_thread("threadIdx.x", 32)
        A = T.allocate([256], "float16", "wmma.matrix_a")
        B = T.allocate([256], "float16", "wmma.matrix_b")
        C = T.allocate([256], "float32", "wmma.accumulator")
        T.tvm_fill_fragment(C, 16, 16, 16, 0, T.float32(1))
        T.tvm_load_matrix_sync(A, 16, 16, 16, 0, a.access_ptr("r"), 16, "row_major")
        T.tvm_load_matrix_sync(B, 16, 16, 16, 0, b.access_ptr("r"), 16, "col_major")
        T.tvm_mma_sync(C, 0, A, 0, B, 0, C, 0)
        T.tvm_store_matrix_sync(C, 16, 16, 16, 0, c.access_ptr("w"), 16, "row_major")

    rng = np.random.default_rng(0)
    a, b = rng.random((16, 16)).astype("float16"), rng.random((16, 16)).astype("float16")
    c = np.zeros((16, 16), "float32")
    interp.run(func, a, b, c)
    wanted = 1 + a.astype("float32") @ b.T.astype("float32")
    np.testing.assert_allclose(c, wanted, rtol=1e-6)


def test_fragment_that_nothing_fills() -> None:
    @T.prim_func
    def func():
        A = T.allocate([256], "float16", "wmma.matrix_a")
        T.tvm_mma_sync(A, 0, A, 0, A, 0, A, 0)

    with pytest.raises(TVMError, match="fragment A that nothing fills"):
        interp.run(func)
