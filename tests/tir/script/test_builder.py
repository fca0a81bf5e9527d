"""Programs built by frames equal those read from text; frames refuse what has no place."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import tir
from tvm.error import DiagnosticError, ScriptError
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import tir as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tir as B
from tvm.script.ir_builder.ir import ir_module

pytestmark = pytest.mark.pure


def test_a_whole_function() -> None:
    with IRBuilder() as ib:
        with B.prim_func():
            B.func_name("main")
            B.func_attr({"k": 1})
            B.func_ret(tir.Var("", "int32").type_annotation)
            a = B.arg("A", B.buffer((8, 8), "float32"))
            h = B.arg("h", B.handle())
            b = ib.name("C", B.match_buffer(h, (8, 8)))
            d = ib.name("D", B.alloc_buffer((8, 8)))
            with B.grid(8, 8) as (i, j):
                ib.name_many(["i", "j"], [i, j])
                with B.block("blk"):
                    vi = ib.name("vi", B.axis.spatial(8, i))
                    vj = ib.name("vj", B.axis.reduce((0, 8), j))
                    B.reads(a[vi, 0:8])
                    B.writes(b[vi, vj])
                    B.block_attr({"t": "x"})
                    with B.init():
                        B.buffer_store(b, 0.0, [vi, vj])
                    B.buffer_store(b, b[vi, vj] + a[vi, vj] * d[vi, vj], [vi, vj])
            with B.If(a[0, 0] < 1.0):
                with B.Then():
                    B.evaluate(0)
                with B.Else(), B.Assert(True, "fine"):
                    B.evaluate(1)
    func = ib.get()

    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), h: T.handle) -> T.int32:
        T.func_attr({"k": 1})
        C = T.match_buffer(h, (8, 8))
        D = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("blk"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.R(8, j)
                T.reads(A[vi, 0:8])
                T.writes(C[vi, vj])
                T.block_attr({"t": "x"})
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vj] * D[vi, vj]
        if A[0, 0] < 1.0:
            T.evaluate(0)
        else:
            assert True, "fine"
            T.evaluate(1)

    assert_structural_equal(func, main)
    assert func.script() == main.script()


def test_pieces_without_a_function() -> None:
    with IRBuilder() as ib:
        with B.block("b"):
            B.evaluate(0)
    realize = ib.get()
    assert realize.block.annotations["tir.script_parsing_detect_access"] == 3
    with IRBuilder() as ib:
        B.evaluate(1)
        B.evaluate(2)
    assert len(ib.get()) == 2
    with IRBuilder() as ib:
        with B.allocate([4], "float32", "local", condition=True, annotations={"k": 1}) as v:
            with B.allocate_const([1, 2], "int32", [2]) as w:
                B.evaluate(B.call_extern("int32", "f", v, w))
    memory = ib.get()
    assert memory.script() == (
        'with T.allocate([4], "float32", "local", annotations={"k": 1}) as v:\n'
        '    v_1 = T.allocate_const([1, 2], "int32", [2])\n'
        '    T.call_extern("int32", "f", v, v_1)'
    )
    with IRBuilder() as ib:
        with B.While(B.int32() < 3), B.realize(B.buffer((4,))[0:4], "local"):
            with B.let(B.int32(), 3) as k, B.attr(k, "key", "text"):
                B.evaluate("s")
    assert [type(s).__name__ for s in _spine(ib.get())] == [
        "While", "AttrStmt", "BufferRealize", "LetStmt", "AttrStmt", "Evaluate",
    ]  # fmt: skip


def _spine(stmt: Any) -> list[Any]:
    found = [stmt]
    while hasattr(found[-1], "body"):
        found.append(found[-1].body)
    return found


def test_missing_reads_and_writes_are_found() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.writes(C[vi])
                C[vi] = A[vi] + A[7 - vi]

    block = func.body.block.body.body.block
    assert [str(r) for r in block.writes] == ["C[vi]"]
    assert {str(r.buffer.name) for r in block.reads} == {"A"}
    assert not block.annotations
    assert func.body.block.reads == ()


@pytest.mark.parametrize(
    ("use", "wanted"),
    [
        (lambda: B.reads(), "T.reads needs to be under T.block"),
        (lambda: B.func_name("f"), "T.func_name must be called at the top of a PrimFunc"),
        (lambda: B.alloc_buffer((1,)), "Block frame or PrimFunc frame not found"),
        (lambda: B.Then().__enter__(), "IfThenElse frame not found"),
        (lambda: B.env_thread("threadIdx.x"), "T.env_thread needs to be under T.prim_func"),
    ],
)
def test_functions_without_their_frame(use: Any, wanted: str) -> None:
    with IRBuilder(), pytest.raises(ScriptError, match=wanted):
        use()


def test_a_function_alone_needs_no_name() -> None:
    with IRBuilder() as ib, B.prim_func():
        B.evaluate(0)
    assert_structural_equal(ib.get(), tir.PrimFunc([], tir.Evaluate(0)))


def _unnamed() -> None:
    with ir_module(), B.prim_func():
        B.evaluate(0)


def _without_then() -> None:
    with B.If(True):
        pass


def _loose_in_if() -> None:
    with B.If(True):
        with B.Then():
            pass
        B.evaluate(0)


def _else_first() -> None:
    with B.If(True), B.Else():
        pass


def _bound_without_realize() -> None:
    with B.block("b", no_realize=True):
        B.axis.spatial(4, 0)


def _where_without_realize() -> None:
    with B.block("b", no_realize=True):
        B.where(True)


def _private_with_symbol() -> None:
    with B.prim_func(is_private=True):
        B.func_attr({"global_symbol": "f"})


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (_unnamed, "the function has no name"),
        (_without_then, "at least one then branch"),
        (_loose_in_if, "should be either in ThenFrame or ElseFrame"),
        (_else_first, "should follow then branch"),
        (_bound_without_realize, "bindings are not allowed when no_realize=True"),
        (_where_without_realize, "is not allowed when no_realize=True"),
        (_private_with_symbol, "private function may not have"),
    ],
)
def test_frames_that_cannot_close(build: Any, wanted: str) -> None:
    with IRBuilder(), pytest.raises((ScriptError, ValueError), match=wanted):
        build()


def test_the_builder_declares_buffers_by_the_word_of_scripts() -> None:
    made = B.Buffer((4, 4), "int8")
    assert isinstance(made, tir.Buffer)
    assert [int(extent) for extent in made.shape] == [4, 4]
    with pytest.raises(ValueError, match="no builder is in scope"):
        IRBuilder.current()


@pytest.mark.parametrize("call", [
    'T.alloc_buffer("(8, 4)")', 'T.decl_buffer("8")', 'T.Buffer(["n", 4])',
    'T.match_buffer(a, "8")', 'T.allocate("8", "float32", "global")',
])  # fmt: skip
def test_a_text_is_no_shape(call: str) -> None:
    text = f"@T.prim_func\ndef main(a: T.handle):\n    A = {call}\n    T.evaluate(0)\n"
    with pytest.raises(DiagnosticError, match=r"the shape is .*; legal: extents"):
        from_source(text)


def test_a_builder_makes_one_function() -> None:
    with IRBuilder() as built:
        with B.prim_func():
            B.func_name("first")
            B.evaluate(0)
        with pytest.raises(ScriptError, match="result has already been set"), B.prim_func():
            B.evaluate(1)
    assert built.get().attrs["global_symbol"] == "first"


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_what_is_said_twice_is_an_error_of_both_kinds(kind: type[Exception]) -> None:
    with IRBuilder(), B.prim_func():
        B.func_name("f")
        with pytest.raises(kind, match="Duplicate prim func name, previous one is f"):
            B.func_name("g")
        B.evaluate(0)
