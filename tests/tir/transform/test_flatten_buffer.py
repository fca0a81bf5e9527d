import numpy as np
import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform import FlattenBuffer, Simplify

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


class TestOffsetsAreMapsOfTheLoops(PassTest):
    """Loops that lie side by side count together, those that start late from zero."""

    run = FlattenBuffer()

    @T.prim_func
    def Before(A: T.Buffer((4, 4, 4), "float32"), C: T.Buffer((16,), "float32")):
        for i, j in T.grid(4, 4):
            A[i, j, 0] = C[15 - i]
        for i in range(2, 8):
            C[i] = A[0, 0, 0]

    @T.prim_func
    def Expected(A: T.Buffer((4, 4, 4), "float32"), C: T.Buffer((16,), "float32")):
        A_flat = T.Buffer((64,), data=A.data)
        for i, j in T.grid(4, 4):
            A_flat[(i * 4 + j) * 4] = C[i * -1 + 15]
        for i in range(2, 8):
            C[i - 2 + 2] = A_flat[0]


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


class TestBlocks(PassTest):
    """Blocks keep their variables; what they say of their accesses is flat as well."""

    run = Sequential([FlattenBuffer(), Simplify()])

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(4, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + B[vi, vj]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((32,))
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A_flat = T.Buffer((32,), data=A.data)
                T.reads(A_flat[vi * 8 + vj])
                T.writes(B[vi * 8 + vj])
                B[vi * 8 + vj] = A_flat[vi * 8 + vj] * 2.0
        for i, j in T.grid(4, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.reads(B[vi * 8 + vj])
                T.writes(C[vi])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + B[vi * 8 + vj]


def test_views_are_lowered_before() -> None:
    @T.prim_func
    def func(A: T.Buffer((4, 8), "float32")):
        with T.block("view"):
            B = T.match_buffer(A[0:4, 0:8], (4, 8))
            B[0, 0] = 1.0

    with pytest.raises(TVMError, match=r"removed in tir\.transform\.LowerMatchBuffer"):
        FlattenBuffer()(IRModule({"main": func}))


def test_offsets_are_counted_once() -> None:
    """They are part of the index, so the flat buffer has none: flattening again adds nothing."""

    @T.prim_func
    def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((4, 4), "float32")):
        S = T.decl_buffer((4, 4), "float32", data=A.data, strides=(8, 1), elem_offset=19)
        for i, j in T.grid(4, 4):
            B[i, j] = S[i, j] + T.float32(1)

    flat = FlattenBuffer()(IRModule({"main": func.with_attr("global_symbol", "main")}))
    text = flat.script()
    assert "S = T.Buffer((51,), data=A.data)" in text
    assert "S[i * 8 + j + 19]" in text
    assert FlattenBuffer()(flat).script() == text
    a, b = np.arange(64, dtype="float32").reshape(8, 8), np.zeros((4, 4), "float32")
    run(flat["main"], a, b)
    np.testing.assert_array_equal(b, a[2:6, 3:7] + 1)


def test_offsets_that_are_no_maps_are_simplified_by_themselves() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        for i in range(4):
            A[(i + i) % 64] = A[T.min(i, 3)]

    after = FlattenBuffer()(IRModule({"main": func}))["main"]
    assert "A_1[i % 32 * 2] = A_1[T.min(i, 3)]" in after.script()


def test_virtual_threads_count_as_loops() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        v = T.env_thread("vthread")
        T.launch_thread(v, 2)
        for i in range(8):
            A[v * 8 + i] = T.float32(0)

    assert "[v * 8 + i] =" in FlattenBuffer()(IRModule({"main": func})).script()
