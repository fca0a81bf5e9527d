from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def run(func: tir.PrimFunc, *arrays: np.ndarray) -> None:
    interp.run(func, *arrays)


def test_blocks_with_init_and_predicate() -> None:
    @T.prim_func
    def func(a: T.Buffer((3, 5), "int32"), b: T.Buffer((3,), "int32")):
        for i, k0, k1 in T.grid(3, 2, 3):
            with T.block("sum"):
                T.where(k0 * 3 + k1 < 5)
                vi = T.axis.spatial(3, i)
                vk = T.axis.reduce(5, k0 * 3 + k1)
                with T.init():
                    b[vi] = 100
                b[vi] = b[vi] + a[vi, vk]

    a, b = np.arange(15, dtype="int32").reshape(3, 5), np.zeros(3, "int32")
    run(func, a, b)
    np.testing.assert_array_equal(b, 100 + a.sum(1))


def test_allocations_and_lets() -> None:
    @T.prim_func
    def func(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        tmp = T.alloc_buffer((4,), "float32")
        for i in range(4):
            with T.block("tmp"):
                v = T.axis.spatial(4, i)
                tmp[v] = a[3 - v]
        for i in range(4):
            with T.block("b"):
                v = T.axis.spatial(4, i)
                twice: T.float32 = tmp[v] * T.float32(2)
                b[v] = twice + twice

    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    run(func, a, b)
    np.testing.assert_array_equal(b, a[::-1] * 4)


def test_flat_memory_seen_as_several_buffers() -> None:
    @T.prim_func
    def func(a: T.Buffer((2, 4), "float32"), b: T.Buffer((8,), "float32")):
        flat = T.decl_buffer((8,), "float32", data=a.data)
        bits = T.decl_buffer((8,), "int32", data=b.data)
        for i in range(8):
            bits[i] = T.reinterpret("int32", flat[7 - i])

    a, b = np.arange(8, dtype="float32").reshape(2, 4), np.zeros(8, "float32")
    run(func, a, b)
    np.testing.assert_array_equal(b, a.reshape(-1)[::-1])


def test_match_buffer_of_a_region() -> None:
    @T.prim_func
    def func(a: T.Buffer((8, 8), "float32"), b: T.Buffer((2, 2), "float32")):
        for i, j in T.grid(2, 2):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(a[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
                T.writes(b[vi, vj])
                s0, s1 = T.int32(), T.int32()
                tile = T.match_buffer(
                    a[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), strides=[s0, s1],
                    offset_factor=1,
                )  # fmt: skip
                b[vi, vj] = tile[0, 1] + tile[3, 2]

    a, b = np.arange(64, dtype="float32").reshape(8, 8), np.zeros((2, 2), "float32")
    run(func, a, b)
    np.testing.assert_array_equal(b, a[0::4, 1::4] + a[3::4, 2::4])


def test_while_break_and_continue() -> None:
    @T.prim_func
    def func(b: T.Buffer((4,), "int32")):
        i = T.decl_buffer((1,), "int32")
        i[0] = 0
        while i[0] < 3:
            b[i[0]] = i[0] * 10
            i[0] = i[0] + 1
        for j in range(10):
            if j == 5:
                T.evaluate(T.break_loop())
            if j % 2 == 0:
                T.evaluate(T.continue_loop())
            b[3] = b[3] + j

    b = np.zeros(4, "int32")
    run(func, b)
    np.testing.assert_array_equal(b, [0, 10, 20, 1 + 3])


def test_assertion() -> None:
    n = tir.Var("n", "int32")
    func = tir.PrimFunc([n], tir.AssertStmt(n > 0, tir.StringImm("n is small"), tir.Evaluate(0)))
    interp.run(func, 1)
    with pytest.raises(AssertionError, match=r"Assert fail: n is small"):
        interp.run(func, 0)


def test_vector_loads_and_masks() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        for i in range(2):
            b[T.Ramp(i * 4, 1, 4)] = a[T.Ramp(i * 4, 1, 4)] + T.Broadcast(T.float32(1), 4)

    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    run(func, a, b)
    np.testing.assert_array_equal(b, a + 1)
    x, y = tir.decl_buffer((6,), name="x"), tir.decl_buffer((8,), name="y")
    index = tir.Ramp(0, 1, 8)
    mask = tir.LT(index, tir.Broadcast(6, 8))
    store = tir.BufferStore(y, tir.BufferLoad(x, [index], mask), [index], mask)
    b[:] = 9
    run(tir.PrimFunc([x, y], store), np.arange(6, dtype="float32"), b)
    np.testing.assert_array_equal(b, [0, 1, 2, 3, 4, 5, 9, 9])


def test_out_of_bounds_is_named() -> None:
    a, i = tir.decl_buffer((4,), name="A"), tir.Var("i", "int32")
    func = tir.PrimFunc([i, a], tir.BufferStore(a, 1.0, [i]))
    with pytest.raises(
        IndexError, match=r"store to buffer A in dimension 0\n.*index -1, the extent is 4"
    ):
        interp.run(func, -1, np.zeros(4, "float32"))
    loop = tir.For(i, 0, 5, 0, tir.BufferStore(a, 1.0, [i]))
    with pytest.raises(IndexError, match=r"index 4"):
        interp.run(tir.PrimFunc([a], loop), np.zeros(4, "float32"))
