import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform import Simplify

pytestmark = pytest.mark.pure


class TestIndices(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((128,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 32:
                B[i] = A[i * 8 // 2 + 3]

    @T.prim_func
    def Expected(A: T.Buffer((128,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = A[i * 4 + 3]


class TestKnowsConditions(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 4:
                if i < 8:
                    A[i] = 1.0
            else:
                A[i] = T.if_then_else(i >= 4, T.float32(2), T.float32(3))

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 4:
                A[i] = 1.0
            else:
                A[i] = T.float32(2)


class TestSizesAreNotNegative(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            if 0 <= n:
                A[i] = 1.0

    @T.prim_func
    def Expected(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            A[i] = 1.0


class TestDropsStoresOfAnElementToItself(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = A[i + 1 - 1]
            B[i] = A[i]

    def test_body(self):
        assert type(self._after()["main"].body.body).__name__ == "BufferStore"


class TestNamesOfIndices(PassTest):
    """What is known of an index counts for more than that it is computed once."""

    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.LetStmt(i * 4) as x:
                with T.LetStmt(3) as y:
                    B[i] = A[x + y - 2]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = A[i * 4 + 1]


class TestKeepsNamesForValues(PassTest):
    """Names of numbers from memory, of floats and of quotients by a variable stay."""

    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "int32"), m: T.float32):
        for i in range(16):
            with T.LetStmt(B[i] + 2) as x:
                with T.LetStmt(m * T.float32(3)) as y:
                    with T.LetStmt(64 // T.max(i, 2)) as z:
                        if x < 60:
                            A[x] = y
                            A[z] = y

    Expected = Before


class TestNamesOfFloatsAndTruthValues(PassTest):
    """They go from integer expressions and conditions, too, not only from float arithmetic."""

    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32"), flag: T.bool):
        for i in range(16):
            with T.LetStmt(T.float32(0.25)) as x:
                with T.LetStmt(flag) as y:
                    if y:
                        B[i] = T.Select(A[i] == x, B[i], 1)

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32"), flag: T.bool):
        for i in range(16):
            if flag:
                B[i] = T.Select(A[i] == T.float32(0.25), B[i], 1)


def test_a_loop_of_unknown_length_bounds_its_variable_inside() -> None:
    n = tir.SizeVar("n", "int64")
    a = tir.decl_buffer((n,), "float32", "A")
    i, j = tir.Var("i", "int64"), tir.Var("j", "int64")
    one = tir.const(1.0, "float32")
    inner = tir.BufferStore(a, one, [i])
    guarded = tir.IfThenElse(i < n, inner)
    half = tir.IfThenElse(j * 2 < n, tir.BufferStore(a, one, [j * 2]))
    zero = tir.const(0, "int64")
    after = tir.IfThenElse(n > 0, tir.BufferStore(a, one, [zero]))
    body = tir.SeqStmt([
        tir.For(i, 0, n, tir.ForKind.SERIAL, guarded),
        tir.For(j, 0, n, tir.ForKind.SERIAL, half),
        after,
    ])  # fmt: skip
    mod = tvm.IRModule({"main": tir.PrimFunc([a], body)})
    first, second, third = Simplify()(mod)["main"].body
    assert isinstance(first.body, tir.BufferStore)      # always true there
    assert isinstance(second.body, tir.IfThenElse)      # not for all j
    assert isinstance(third, tir.IfThenElse)            # the loops may not have run at all


class TestWhatBuffersMention(PassTest):
    """Names in definitions of buffers stay, and so do the definitions."""

    run = Simplify()
    same_results = False

    @T.prim_func
    def Before(p: T.handle("float32"), m: T.int32):
        q: T.handle("float32") = p
        m2: T.int32 = m
        k: T.int32 = m
        X = T.decl_buffer((m2 + 1 - 1,), "float32", data=q)
        X[k + 1 - 1] = T.float32(1)

    @T.prim_func
    def Expected(p: T.handle("float32"), m: T.int32):
        q: T.handle("float32") = p
        m2: T.int32 = m
        X = T.decl_buffer((m2 + 1 - 1,), "float32", data=q)
        X[m] = T.float32(1)


class TestSizesAreNotNegative(PassTest):
    run = Simplify()
    same_results = False

    @T.prim_func
    def Before(h: T.handle, g: T.handle, n: T.int64, m: T.int64):
        X = T.match_buffer(h, (n * T.int64(8),))
        Y = T.match_buffer(g, (m * T.int64(8) + T.int64(3) - T.int64(4),))
        X[T.min(T.int64(0), n)] = Y[T.min(T.int64(1), m)]

    @T.prim_func
    def Expected(h: T.handle, g: T.handle, n: T.int64, m: T.int64):
        X = T.match_buffer(h, (n * T.int64(8),))
        Y = T.match_buffer(g, (m * T.int64(8) + T.int64(3) - T.int64(4),))
        X[T.int64(0)] = Y[T.int64(1)]


class TestValuesThatEqualUnequalOnes(PassTest):
    """a = b and b != c say that a != c, where chains of facts are asked for."""

    same_results = False  # the stores are what is compared

    @staticmethod
    def run(mod):
        config = {"tir.Simplify": {"transitively_prove_inequalities": True}}
        with tvm.transform.PassContext(config=config):
            return Simplify()(mod)

    @T.prim_func
    def Before(X: T.Buffer((6,), "bool"), a: T.int32, b: T.int32, c: T.int32):
        if a == b and b != c:
            X[0] = a != c
            X[1] = c == a
            X[2] = a + 1 != c
        if a == b + 2 and b != c:
            X[3] = a != c + 2
            X[4] = a != c
        X[5] = a != c  # the facts hold no longer

    @T.prim_func
    def Expected(X: T.Buffer((6,), "bool"), a: T.int32, b: T.int32, c: T.int32):
        if a == b and b != c:
            X[0] = T.bool(True)
            X[1] = T.bool(False)
            X[2] = a + 1 != c
        if a == b + 2 and b != c:
            X[3] = T.bool(True)
            X[4] = a != c
        X[5] = a != c


class TestFactsAreNotJoinedUnasked(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(X: T.Buffer((3,), "bool"), a: T.int32, b: T.int32, c: T.int32):
        if a < b and b < c:
            X[0] = a < c
            X[1] = a < b + 1
            X[2] = c > b

    @T.prim_func
    def Expected(X: T.Buffer((3,), "bool"), a: T.int32, b: T.int32, c: T.int32):
        if a < b and b < c:
            X[0] = a < c
            X[1] = T.bool(True)
            X[2] = T.bool(True)


def test_names_of_conditions_decide_conditions() -> None:
    @T.prim_func
    def before(A: T.Buffer((9,), "bool")):
        for i in range(9):
            early = i < 4
            if early or 4 <= i:
                A[i] = early
            if i < 4:
                A[8 - i] = early
                if early:
                    A[i] = early

    @T.prim_func
    def after(A: T.Buffer((9,), "bool")):
        for i in range(9):
            early = i < 4
            A[i] = early
            if i < 4:
                A[8 - i] = early
                A[i] = early

    found = tvm.tir.transform.Simplify()(tvm.IRModule({"main": before}))["main"]
    tvm.ir.assert_structural_equal(
        found.without_attr("global_symbol"), after.without_attr("global_symbol")
    )


@T.prim_func
def _asks_for_nan(A: T.Buffer((8,), "float32"), n: T.float32, B: T.Buffer((8,), "int32")):
    for i in range(8):
        x: T.float32 = A[i] * T.float32(2)
        if x != x or n == n:
            B[i] = T.if_then_else(A[i] == A[i] and i >= 0, 1, 2)
        else:
            B[i] = T.Select(A[i] != A[i], 3, 4)


def test_a_float_that_differs_from_itself_is_nan() -> None:
    """What asks whether data is NaN stays, of elements, names and parameters."""
    made = Simplify()(tvm.IRModule({"main": _asks_for_nan}))["main"]
    text = str(made)
    for part in ("x != x", "n == n", "A[i] == A[i]", "A[i] != A[i]"):
        assert part in text
    assert "0 <= i" not in text
    a = np.array([1, np.nan, -np.inf, 0, np.nan, 2, 3, 4], "float32")
    for n in (0.0, np.nan):
        found = [np.zeros(8, "int32") for _ in range(2)]
        for func, out in zip((_asks_for_nan, made), found):
            run(func, a, n, out)
        assert found[0].tolist() == found[1].tolist()
        assert set(found[0]) == ({1, 2} if n == 0 else {2, 4})


class TestFloats(PassTest):
    """Constants are folded, and what changes no number goes; nothing is reordered."""

    run = Simplify()

    def before():  # the operators of TVMScript would fold as they are written
        A, B = tir.decl_buffer((8,), name="A"), tir.decl_buffer((8,), name="B")
        i, x, one = tir.Var("i", "int32"), None, tir.const(1.0, "float32")
        x = A[i]
        zero, two = tir.const(0.0, "float32"), tir.const(2.0, "float32")
        values = [
            tir.Add(x, zero), tir.Mul(one, x), tir.Div(x, one), tir.Mul(two, tir.Add(one, two)),
            tir.Cast("float32", tir.const(3, "int64")), tir.Max(x, x), tir.Sub(x, x),
            tir.Mul(x, zero), tir.Add(tir.Add(x, one), two),
        ]  # fmt: skip
        body = tir.SeqStmt([tir.BufferStore(B, value, [i]) for value in values])
        return tir.PrimFunc([A, B], tir.For(i, 0, 8, tir.ForKind.SERIAL, body))

    Before = before().with_attr("global_symbol", "Before")

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i]
            B[i] = A[i]
            B[i] = A[i]
            B[i] = T.float32(6)
            B[i] = T.float32(3)
            B[i] = A[i]
            B[i] = A[i] - A[i]
            B[i] = A[i] * T.float32(0)
            B[i] = A[i] + T.float32(1) + T.float32(2)
