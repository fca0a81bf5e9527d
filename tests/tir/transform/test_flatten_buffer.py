import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import FlattenBuffer

pytestmark = pytest.mark.pure


class TestTwoDimensions(PassTest):
    run = FlattenBuffer()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            C[i, j] = A[i, j] + 1.0

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        A_flat = T.Buffer((32,), data=A.data)
        C_flat = T.Buffer((32,), data=C.data)
        for i, j in T.grid(4, 8):
            C_flat[i * 8 + j] = A_flat[i * 8 + j] + 1.0


class TestStridesAndScratch(PassTest):
    run = FlattenBuffer()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8,), "float32")):
        B_data = T.allocate([4, 9], "float32", "global")
        B = T.decl_buffer((4, 8), data=B_data, strides=(9, 1))
        for i, j in T.grid(4, 8):
            B[i, j] = A[i, j]
        for j in range(8):
            C[j] = B[3, j]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8,), "float32")):
        A_flat = T.Buffer((32,), data=A.data)
        B_data = T.allocate([36], "float32", "global")
        B = T.Buffer((36,), data=B_data)
        for i, j in T.grid(4, 8):
            B[i * 9 + j] = A_flat[i * 8 + j]
        for j in range(8):
            C[j] = B[j + 27]


class TestTruthValuesAreBytes(PassTest):
    run = FlattenBuffer()

    @T.prim_func
    def Before(A: T.Buffer((4, 2), "bool"), C: T.Buffer((4, 2), "bool")):
        for i, j in T.grid(4, 2):
            C[i, j] = not A[i, j]

    def test_types(self):
        stmt = self._after()["main"].body.body.body
        assert str(stmt.buffer.dtype) == "int8"
        assert str(stmt.value.dtype) == "int8"


class TestSymbolic(PassTest):
    run = FlattenBuffer()

    @T.prim_func
    def Before(a: T.handle, c: T.handle):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (n, m))
        C = T.match_buffer(c, (n, m))
        for i, j in T.grid(n, m):
            C[i, j] = A[i, j] * 2.0


def test_no_buffer_is_declared() -> None:
    @T.prim_func
    def func(A: T.Buffer((4, 8), "float32")):
        for i in range(4):
            B = T.decl_buffer((2, 3, 4, 5), "float32", axis_separators=[2])
            C = T.decl_buffer((120,), "float32", data=B.data)
            for j in range(4):
                B[1, 0, j, 2] = A[i, j]
                A[i, j] = C[j]

    text = FlattenBuffer()(IRModule.from_expr(func)).script()
    assert "decl_buffer" not in text
    assert 'T.allocate([6, 20], "float32", "global")' in text
    assert "axis_separators=[1]" in text


def test_a_fused_index_of_symbolic_sizes_is_the_loop() -> None:
    @T.prim_func
    def func(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (5, n, n))
        B = T.match_buffer(b, (5, n, n))
        for i in range(n * n * 5):
            B[i // (n * n), i % (n * n) // n, i % n] = A[i // (n * n), i % (n * n) // n, i % n]

    assert "B_1[i] = A_1[i]" in FlattenBuffer()(IRModule.from_expr(func)).script()


class TestRowsCountedInSymbols(PassTest):
    """The digits of a row's number are that number again."""

    run = FlattenBuffer()

    @T.prim_func
    def Before(a: T.handle, c: T.handle):
        n, m = T.int64(is_size_var=True), T.int64(is_size_var=True)
        A = T.match_buffer(a, (n, m, 8), "float32")
        C = T.match_buffer(c, (n * m, 8), "float32")
        for i, j in T.grid(n * m, 8):
            C[i, j] = A[i // m, i % m, j]

    @T.prim_func
    def Expected(a: T.handle, c: T.handle):
        n, m = T.int64(is_size_var=True), T.int64(is_size_var=True)
        A = T.match_buffer(a, (n, m, 8), "float32")
        C = T.match_buffer(c, (n * m, 8), "float32")
        A_flat = T.Buffer((n * m * 8,), data=A.data)
        C_flat = T.Buffer((n * m * 8,), data=C.data)
        for i, j in T.grid(n * m, 8):
            C_flat[i * 8 + T.Cast("int64", j)] = A_flat[i * 8 + T.Cast("int64", j)]
