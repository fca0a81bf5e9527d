"""Statements built one after another."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.ir import assert_structural_equal

pytestmark = pytest.mark.pure


def test_loops_branches_and_memory() -> None:
    ib = tir.ir_builder.create()
    n = tir.Var("n", "int32")
    given = tir.decl_buffer([n], "float32", "A")
    A = ib.buffer_ptr(given)
    with ib.for_range(0, n, name="i") as i:
        with ib.new_scope():
            B = ib.allocate("float32", [4], name="B")
            B[0] = A[i] + 1
            with ib.if_scope(ib.likely(i < 3)):
                A[i] = B[0]
            with ib.else_scope():
                A[i] = 0
        twice = ib.let("twice", i * 2)
        ib.emit(tir.call_extern("int32", "use", twice))

    made = ib.get()
    assert isinstance(made, tir.For)
    assert made.loop_var is i
    block = made.body
    assert [type(s) for s in block] == [tir.Allocate, tir.LetStmt]
    branch = block[0].body[1]
    assert isinstance(branch, tir.IfThenElse)
    assert_structural_equal(branch.then_case, tir.BufferStore(given, B[0], [i]), True)
    zero = tir.BufferStore(given, tir.const(0, "float32"), [i])
    assert_structural_equal(branch.else_case, zero, True)
    assert ib.get() is made


def test_loop_text() -> None:
    ib = tir.ir_builder.create()
    A = ib.pointer("int64", name="A")
    ib.scope_attr(A, "storage_alignment", 64)
    with ib.while_loop(A[0] < 5):
        A[0] = A[0] + 1
    with ib.for_range(tir.const(2, "int64"), 10, name="j", kind="parallel") as j:
        A[j] = j
    func = tir.PrimFunc([A.asobject().data], ib.get())
    again = tvm.script.from_source(func.script())
    assert_structural_equal(func, again)
    loop = func.body.body[1]
    assert (loop.min.value, loop.extent.value, loop.kind) == (2, 8, tir.ForKind.PARALLEL)
    assert loop.loop_var.dtype == "int64"
    assert A.dtype == "int64"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("vectorize", tir.ForKind.VECTORIZED), ("unroll", tir.ForKind.UNROLLED)],
)
def test_kinds_of_loops(kind: str, expected: tir.ForKind) -> None:
    ib = tir.ir_builder.create()
    with ib.for_range(0, 4, kind=kind) as i:
        ib.emit(tir.Evaluate(i))
    assert ib.get().kind == expected


def test_nothing_is_a_statement_too() -> None:
    assert_structural_equal(tir.ir_builder.create().get(), tir.Evaluate(0))


def test_what_is_refused() -> None:
    ib = tir.ir_builder.create()
    A = ib.pointer("float32")
    with pytest.raises(ValueError, match="found: a value of type int32\n"):
        A[0] = tir.Var("x", "int32")
    with pytest.raises(tvm.TVMError, match="found: no if_scope just before"):
        ib.else_scope()
    legal = "legal: serial, parallel, vectorize, unroll"
    with pytest.raises(ValueError, match=f"found: kind='sideways'\n  {legal}"):
        ib.for_range(0, 3, kind="sideways")
    ib.for_range(0, 3)
    with pytest.raises(tvm.TVMError, match="found: 1 open blocks"):
        ib.get()


def test_a_buffer_of_the_builder_stands_for_the_buffer() -> None:
    buffer = tvm.tir.decl_buffer((4,), "float32", "A")
    pointer = tvm.tir.ir_builder.create().buffer_ptr(buffer)
    store = tvm.tir.BufferStore(pointer, tvm.tir.BufferLoad(pointer, [0]), [1])
    assert store.buffer is buffer
    assert store.value.buffer is buffer
