"""Forms of expressions; what they compute is in test_programs.py."""

from __future__ import annotations

import pytest

from tests.backend.llvm.kernel import i32, kernel, lowered
from tvm.backend.c.codegen import emit_module
from tvm.error import DTypeError, TVMError
from tvm.ir.op import Op
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.op import builtin

pytestmark = pytest.mark.pure
A = decl_buffer((64,), "int32", "A")
X = e.BufferLoad(A, [i32(1)])


def stored(value: e.PrimExpr, dtype: str = "int32") -> str:
    """The lines of a function that stores a value."""
    out = decl_buffer((64,), dtype, "out")
    index = i32(0) if value.dtype.is_scalar else e.Ramp(i32(0), i32(1), value.dtype.lanes)
    func = kernel([A, out], s.BufferStore(out, value, [index]))
    text = emit_module(lowered({"kernel": func})).text
    return text[text.index("restrict out) {") :].partition("\n")[2].rpartition("  return 0;")[0]


def test_parentheses_are_where_they_are_needed() -> None:
    assert "out[0] = A[1] * (A[1] + 2) - (A[1] - 3);" in stored(X * (X + 2) - (X - 3))
    assert "out[0] = ((A[1] < 3 && A[1] > 1) || A[1] == 7) ? A[1] : 0;" in stored(
        e.Select(e.Or(e.And(X < 3, X > 1), e.EQ(X, i32(7))), X, i32(0))
    )
    assert "out[0] = (A[1] & 3) + 1;" in stored((X & 3) + 1)


def test_a_side_that_needs_statements_has_them_inside() -> None:
    v = e.Var("v", "int32")
    let = e.Let(v, e.Div(i32(9), X), v * v)
    assert "A[1] > 0 ? ({ const int32_t v = div_i32(9, A[1]); v * v; }) : 0" in stored(
        builtin.if_then_else(X > 0, let, i32(0))
    )
    assert "  const int32_t v = div_i32(9, A[1]);\n  out[0] = v * v;" in stored(let)


def test_deep_expressions_are_cut_by_variables() -> None:
    value: e.PrimExpr = X
    for _ in range(500):
        value = e.Add(X, e.Mul(value, X))
    text = stored(value)
    assert max(line.count("(") for line in text.splitlines()) < 100
    assert text.count("const int32_t t") > 5


def test_what_depends_on_memory_stays_before_a_call() -> None:
    call = builtin.call_extern("int32", "counts", A.data)
    text = stored(e.Add(e.Add(X, call), X))
    first, second, third = (line.strip() for line in text.strip().splitlines()[:3])
    assert first == "const int32_t t = A[1];"
    assert second == "const int32_t t_1 = counts(A);"
    assert third == "const int32_t t_2 = A[1];"


def test_lanes_are_read_before_they_are_written() -> None:
    out = decl_buffer((64,), "int32", "out")
    moved = e.BufferLoad(out, [e.Ramp(i32(0), i32(1), 8)])
    func = kernel([A, out], s.BufferStore(out, moved, [e.Ramp(i32(1), i32(1), 8)]))
    text = emit_module(lowered({"kernel": func})).text
    assert "lanes[lane] = out[lane];" in text
    assert "out[1 + lane_1] = lanes[lane_1];" in text


def test_rejects_vectors_of_unknown_length_and_unknown_operators() -> None:
    lanes = e.Call("int32", Op.get("tir.vscale"), []) * 4
    body = s.BufferStore(A, e.Broadcast(i32(1), lanes), [e.Ramp(i32(0), i32(1), lanes)])
    with pytest.raises(DTypeError, match="vectors with a fixed number of lanes"):
        emit_module(lowered({"kernel": kernel([A], body)}))
    with pytest.raises(TVMError) as caught:
        stored(e.Call("int32", Op.get("tir.call_llvm_pure_intrin"), [e.StringImm("llvm.bswap"), X]))
    assert str(caught.value).startswith("C code for tir.call_llvm_pure_intrin\n  found: no rule")


def test_volatile_memory_is_read_and_written_each_time() -> None:
    put = s.BufferStore(A, X + 1, [i32(2)])
    func = kernel([A], s.AttrStmt(A.data, "volatile_scope", i32(1), put))
    text = emit_module(lowered({"kernel": func})).text
    assert "((volatile int32_t*)A)[2] = ((volatile int32_t*)A)[1] + 1;" in text


def test_casts_to_odd_widths_that_lose_the_sign() -> None:
    """A negative number in few bits has others in the wider type that C holds it in."""
    narrow = e.Cast("int3", X)
    assert "wrap_u5" in stored(e.Cast("int32", e.Cast("uint5", narrow)))
    assert "wrap_i5" not in stored(e.Cast("int32", e.Cast("int5", narrow)))
