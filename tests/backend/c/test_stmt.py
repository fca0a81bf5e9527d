"""Forms of statements; what they do is in test_programs.py."""

from __future__ import annotations

import pytest

from tests.backend.llvm.kernel import i32, kernel, lowered, packed
from tvm.backend.c.codegen import emit_module
from tvm.error import TVMError
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.op import builtin

pytestmark = pytest.mark.pure
TRUE = e.IntImm("bool", 1)


def text_of(func: object) -> str:
    return emit_module(lowered({"kernel": func})).text


def scratch(count: int, use: s.Stmt | None = None) -> str:
    out, temp = decl_buffer((4,), "float32", "out"), decl_buffer((count,), "float32", "temp")
    use = use or s.BufferStore(temp, e.FloatImm("float32", 1), [i32(0)])
    both = s.SeqStmt([use, s.BufferStore(out, e.BufferLoad(temp, [i32(0)]), [i32(0)])])
    return text_of(kernel([out], s.Allocate(temp.data, "float32", [i32(count)], TRUE, both)))


def test_small_scratch_memory_is_on_the_stack_and_large_is_not() -> None:
    assert "float temp[1024] __attribute__((aligned(64)));" in scratch(1024)
    large = scratch(100_000)
    assert "float* temp = (float*)TVMBackendAllocWorkspace(1, 0, " in large
    assert large.count("TVMBackendFreeWorkspace(1, 0, temp);") == 1
    assert "if (is_null(temp)) {\n    return -1;\n  }" in large


def test_memory_is_given_back_when_the_function_fails() -> None:
    check = s.AssertStmt(e.EQ(i32(0), i32(1)), e.StringImm("no"), s.Evaluate(i32(0)))
    text = scratch(100_000, check)
    assert '    raise_error("TVMError",\n        "no");\n    goto fail;\n' in text
    given_back = "(void)TVMBackendFreeWorkspace(1, 0, temp);"
    assert f"  if (0) {{\n    fail:\n    {given_back}\n    return -1;\n  }}\n" in text


def test_memory_is_given_back_before_a_jump() -> None:
    i = e.Var("i", "int32")
    temp = decl_buffer((100_000,), "float32", "temp")
    out = decl_buffer((4,), "int32", "out")
    leave = s.Allocate(temp.data, "float32", [e.BufferLoad(out, [i])], TRUE,
                       s.Evaluate(builtin.break_loop()))  # fmt: skip
    text = text_of(kernel([out], s.For(i, 0, 4, s.ForKind.SERIAL, leave)))
    assert "TVMBackendFreeWorkspace(1, 0, temp);\n    break;" in text


def test_errors_carry_their_words_line_by_line() -> None:
    def body(b: Buffer) -> s.Stmt:
        words = e.StringImm("ShapeError: main\n  found: {} of 100%")
        told = builtin.tvm_tuple(words, e.BufferLoad(b, [i32(0)]))
        return s.AssertStmt(e.EQ(e.BufferLoad(b, [i32(0)]), i32(1)), told, s.Evaluate(i32(0)))

    text = text_of(packed("f", 1, body, "int32"))
    assert (
        "  if (B0[0] != 1) {\n"
        '    return raise_error("ShapeError",\n'
        '        "main\\n"\n'
        '        "  found: %lld of 100%%", (long long)B0[0]);\n  }'
    ) in text


def test_a_condition_that_needs_statements_is_computed_in_each_round() -> None:
    b = decl_buffer((4,), "int32", "b")
    v = e.Var("v", "int32")
    holds = e.Let(v, e.BufferLoad(b, [i32(0)]), e.LT(v * v, i32(50)))
    more = s.BufferStore(b, e.BufferLoad(b, [i32(0)]) + 1, [i32(0)])
    text = text_of(kernel([b], s.While(holds, more)))
    assert "while (true) {\n    const int32_t v = b[0];\n    if (!(v * v < 50)) break;" in text


def test_rejects_gpu_threads_and_jumps_outside_of_loops() -> None:
    b = decl_buffer((4,), "int32", "b")
    i = e.Var("i", "int32")
    thread = e.IterVar(None, "threadIdx.x", e.IterVar.ThreadIndex, "threadIdx.x")
    body = s.For(i, 0, 4, s.ForKind.THREAD_BINDING, s.BufferStore(b, i, [i]), thread)
    with pytest.raises(TVMError, match="bound to GPU threads"):
        text_of(kernel([b], body))
    with pytest.raises(TVMError, match="need a serial loop around them"):
        text_of(kernel([b], s.Evaluate(builtin.break_loop())))
