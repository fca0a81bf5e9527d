"""Facts about memory last as long as the memory does not change."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.tir.analysis.lasting_fact import lasting_fact
from tvm.tir.transform import Simplify

pytestmark = pytest.mark.pure
x = tir.Var("x", "int32")
A, B = tir.decl_buffer((4,), "int32", name="A"), tir.decl_buffer((4,), "int32", name="B")


def store(buffer, value) -> tir.BufferStore:
    return tir.BufferStore(buffer, value, [0])


def test_the_part_that_lasts() -> None:
    fact = tir.all(A[0] < x, x > 2, B[0] == 1)
    kept = lasting_fact(fact, store(A, 7))
    assert "A[0]" not in str(kept)
    assert "B[0] == 1" in str(kept)
    assert "x > 2" in str(kept)
    assert str(lasting_fact(A[0] < x, store(A, 7))) == "T.bool(True)"
    call = tir.Evaluate(tir.call_extern("int32", "anything"))
    assert str(lasting_fact(A[0] < x, call)) == "T.bool(True)"


@T.prim_func
def counted(A: T.Buffer((1,), "int32"), n: T.int32):
    if A[0] == n:
        A[0] = A[0] + 1
        if A[0] == n:
            A[0] = 0


@T.prim_func
def asserted(A: T.Buffer((1,), "int32"), n: T.int32):
    assert A[0] < n, "small"
    A[0] = n + 5
    if A[0] < n + 3:
        A[0] = 0


@T.prim_func
def read_only(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32"), n: T.int32):
    if A[0] < n:
        B[0] = 1
        if A[0] < n + 3:
            B[0] = 0


@pytest.mark.parametrize(("func", "guards"), [(counted, 2), (asserted, 1), (read_only, 1)])
def test_simplify_keeps_guards_on_memory_that_changes(func, guards) -> None:
    after = Simplify()(IRModule({"main": func}))["main"]
    assert str(after.script()).count("if ") == guards
