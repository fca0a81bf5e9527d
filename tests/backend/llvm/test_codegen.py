"""The text that is generated: whole functions as golden text, and facts about functions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.backend.llvm.kernel import i32, kernel, lowered, packed, vector
from tvm.backend.llvm.codegen import emit_module
from tvm.backend.llvm.jit import Machine
from tvm.ir.module import IRModule
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.cpu
MACHINE = Machine("x86_64-unknown-linux-gnu", "skylake", "")


def text_of(*funcs: PrimFunc) -> str:
    """The generated text, without the lines that depend on LLVM's version."""
    mod = lowered({str(f.attrs["global_symbol"]): f for f in funcs})
    lines = emit_module(mod, MACHINE).text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("target "))


def test_golden_a_vector_loop(golden: Callable[[str], None]) -> None:
    a, b = (decl_buffer((64,), "float32", name) for name in "ab")
    i = e.Var("i", "int32")
    at = vector(e.Mul(i, i32(16)), 16)
    total = e.Add(e.Mul(e.BufferLoad(a, [at]), e.BufferLoad(a, [at])), e.BufferLoad(b, [at]))
    golden(text_of(kernel([a, b], s.For(i, 0, 4, s.ForKind.SERIAL, s.BufferStore(b, total, [at])))))


def test_golden_a_packed_function_with_a_parallel_loop(golden: Callable[[str], None]) -> None:
    def body(source: Buffer, target: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        relu = e.Max(e.BufferLoad(source, [i]), e.FloatImm("float32", 0.0))
        return s.For(i, 0, 64, s.ForKind.PARALLEL, s.BufferStore(target, relu, [i]))

    golden(text_of(packed("relu", 2, body, "float32", "float32")))


def test_golden_a_register_tile(golden: Callable[[str], None]) -> None:
    """A 2 x 8 tile of a matrix product, its sums in a local buffer that becomes registers."""
    a, b, c = (decl_buffer((64,), "float32", name) for name in "abc")
    acc = decl_buffer((16,), "float32", "acc", scope="local")
    k = e.Var("k", "int32")
    zero = e.Broadcast(e.FloatImm("float32", 0.0), 8)
    init = [s.BufferStore(acc, zero, [vector(8 * row, 8)]) for row in range(2)]
    steps, ends = [], []
    for row in range(2):
        at = vector(8 * row, 8)
        factor = e.Broadcast(e.BufferLoad(a, [e.Add(e.Mul(i32(row), i32(8)), k)]), 8)
        product = e.Mul(factor, e.BufferLoad(b, [vector(e.Mul(k, i32(8)), 8)]))
        steps.append(s.BufferStore(acc, e.Add(e.BufferLoad(acc, [at]), product), [at]))
        ends.append(s.BufferStore(c, e.BufferLoad(acc, [at]), [at]))
    loop = s.For(k, 0, 8, s.ForKind.SERIAL, s.SeqStmt(steps))
    body = s.Allocate(acc.data, "float32", [i32(16)], e.IntImm("bool", 1),
                      s.SeqStmt([*init, loop, *ends]))  # fmt: skip
    golden(text_of(kernel([a, b, c], body)))


def test_index_arithmetic_may_not_overflow_and_data_may() -> None:
    b = decl_buffer((64,), "int32", "b")
    i = e.Var("i", "int32")
    value = e.Mul(e.BufferLoad(b, [e.Add(i, i32(1))]), i32(3))
    text = text_of(kernel([b], s.For(i, 0, 4, s.ForKind.SERIAL, s.BufferStore(b, value, [i]))))
    assert "add nsw i32 %i, 1" in text
    assert "mul i32" in text


def test_functions_without_a_symbol_are_internal() -> None:
    b = decl_buffer((4,), "int32", "b")
    body = s.BufferStore(b, i32(1), [i32(0)])
    private = PrimFunc([b.data], body)
    text = emit_module(IRModule({"helper": private}), MACHINE).text
    assert "define internal i32 @helper(ptr noalias align 4 %b)" in text


def test_the_entry_function_is_marked() -> None:
    func = packed("first", 1, lambda b: s.BufferStore(b, i32(1), [i32(0)]), "int32")
    other = packed("second", 1, lambda b: s.BufferStore(b, i32(2), [i32(0)]), "int32")
    mod = IRModule({"first": func, "second": other.with_attr("tir.is_entry_func", True)})
    emitted = emit_module(mod, MACHINE)
    assert emitted.packed == ("first", "second")
    assert emitted.entry == "second"


def test_unusual_names_are_quoted() -> None:
    b = decl_buffer((4,), "int32", "b")
    body = s.BufferStore(b, i32(1), [i32(0)])
    text = text_of(kernel([b], body, name="fused conv-1/relu"))
    assert 'define i32 @"fused conv-1/relu"(' in text


def test_the_same_module_gives_the_same_text() -> None:
    def body(b: Buffer) -> s.Stmt:
        return s.BufferStore(b, i32(1), [i32(0)])

    first, second = (text_of(packed("f", 1, body, "int32")) for _ in range(2))
    assert first == second
