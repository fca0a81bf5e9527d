"""Parallel loops: results, what bodies may use, errors, noalias in outlined bodies."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import built, call, compiled, i32, kernel, packed, run, vector
from tvm.runtime import tensor
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer

pytestmark = pytest.mark.cpu
PARALLEL, SERIAL = s.ForKind.PARALLEL, s.ForKind.SERIAL


@pytest.mark.parametrize("extent", [0, 1, 2, 3, 7, 1000])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_each_iteration_runs_once(extent: int, dtype: str) -> None:
    out = np.zeros(1003, "int32")

    def body(b: Buffer) -> s.Stmt:
        i = e.Var("i", dtype)
        more = e.Add(e.BufferLoad(b, [i]), i32(1))
        return s.For(i, 3, extent, PARALLEL, s.BufferStore(b, more, [i]))

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, [int(3 <= k < 3 + extent) for k in range(1003)])


@pytest.mark.parametrize("count", [0, 1, 4, 5, 9, 10, 11, 1000])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_few_iterations_stay_on_one_thread(count: int, dtype: str) -> None:
    """`parallel_grain` says how many are worth a thread; all of them run."""
    n, data = e.Var("n", dtype), decl_buffer((1003,), "int32", "data")
    param = e.Var("param", "handle")
    i = e.Var("i", dtype)
    store = s.BufferStore(data, e.Add(e.BufferLoad(data, [i]), i32(1)), [i])
    loop = s.For(i, 0, n, PARALLEL, store, annotations={"parallel_grain": 5})
    func = tvm.tir.PrimFunc([param, n], loop, None, {param: data})
    func = func.with_attr("global_symbol", "main")
    library = tvm.compile(tvm.IRModule({"main": func}), target="llvm")
    out = np.zeros(1003, "int32")
    library["main"](out, count)
    np.testing.assert_array_equal(out, [int(k < count) for k in range(1003)])
    text = library.mod.inspect_source("ll")
    assert f"sdiv {'i32' if dtype == 'int32' else 'i64'} %n, 5" in text


def test_bodies_use_values_of_every_type() -> None:
    a, out = np.arange(64, dtype="float32"), np.zeros(64, "float32")

    def body(source: Buffer, target: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        flag, small = e.Var("flag", "bool"), e.Var("small", "int8")
        wide, half = e.Var("wide", "float64"), e.Var("half", "float16")
        lanes = e.Var("lanes", "float32x4")
        total = e.Select(flag, e.Cast("float32", wide), e.FloatImm("float32", 0))
        total = e.Add(total, e.Add(e.Cast("float32", small), e.Cast("float32", half)))
        values = e.Add(e.Add(e.BufferLoad(source, [vector(e.Mul(i, i32(4)), 4)]), lanes),
                       e.Broadcast(total, 4))  # fmt: skip
        put = s.BufferStore(target, values, [vector(e.Mul(i, i32(4)), 4)])
        loop: s.Stmt = s.For(i, 0, 16, PARALLEL, put)
        loop = s.LetStmt(lanes, e.BufferLoad(source, [vector(0, 4)]), loop)
        loop = s.LetStmt(half, e.FloatImm("float16", 0.5), loop)
        loop = s.LetStmt(wide, e.FloatImm("float64", 100.0), loop)
        loop = s.LetStmt(small, e.IntImm("int8", -3), loop)
        return s.LetStmt(flag, e.GT(e.BufferLoad(source, [i32(5)]), e.FloatImm("float32", 0)), loop)

    assert run(body, a, out) == 0
    np.testing.assert_array_equal(out, a + np.tile(a[:4], 16) + 100 - 3 + 0.5)


def test_a_parallel_loop_inside_another_is_serial() -> None:
    out = np.zeros(64, "int32")

    def body(b: Buffer) -> s.Stmt:
        i, j = e.Var("i", "int32"), e.Var("j", "int32")
        place = e.Add(e.Mul(i, i32(8)), j)
        inner = s.For(j, 0, 8, PARALLEL, s.BufferStore(b, place, [place]))
        return s.For(i, 0, 8, PARALLEL, inner)

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, np.arange(64))


def test_the_extent_may_be_data() -> None:
    out, n = np.zeros(16, "int32"), np.array([5], "int32")

    def body(b: Buffer, size: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        return s.For(i, 0, e.BufferLoad(size, [i32(0)]), PARALLEL, s.BufferStore(b, i, [i]))

    assert run(body, out, n) == 0
    np.testing.assert_array_equal(out, [0, 1, 2, 3, 4] + [0] * 11)


def test_errors_inside_reach_the_caller() -> None:
    def body(b: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        positive = e.GE(e.BufferLoad(b, [i]), i32(0))
        check = s.AssertStmt(
            positive, e.StringImm("ValueError: a negative number"), s.Evaluate(i32(0))
        )
        return s.For(i, 0, 64, PARALLEL, check)

    module = built({"f": packed("f", 1, body, "int32")})
    values = np.zeros(64, "int32")
    module["f"](tensor(values))
    values[63] = -1
    with pytest.raises(ValueError, match=r"^a negative number$"):
        module["f"](tensor(values))


def test_scratch_memory_of_each_iteration_is_its_own() -> None:
    out = np.zeros(64, "int32")

    def body(b: Buffer) -> s.Stmt:
        i, j = e.Var("i", "int32"), e.Var("j", "int32")
        temp = decl_buffer((50_000,), "int32", "temp")
        fill = s.For(j, 0, 50_000, SERIAL, s.BufferStore(temp, i, [j]))
        use = s.BufferStore(b, e.BufferLoad(temp, [i32(49_999)]), [i])
        inner = s.Allocate(
            temp.data, "int32", [i32(50_000)], e.IntImm("bool", 1), s.SeqStmt([fill, use])
        )
        return s.For(i, 0, 64, PARALLEL, inner)

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, np.arange(64))


def text_of(**attrs: object) -> str:
    a, b = (decl_buffer((64,), "float32", n) for n in ("a", "b"))
    i = e.Var("i", "int32")
    loop = s.For(i, 0, 64, PARALLEL, s.BufferStore(b, e.BufferLoad(a, [i]), [i]))
    return compiled(kernel([a, b], loop, **attrs)).inspect_source()


def test_pointers_are_noalias_in_the_body_unless_the_function_says_otherwise() -> None:
    pointers = "ptr noalias align 4 %b, ptr noalias align 4 %a"
    assert f"parallel_i(i32 %start, i32 %extent, {pointers})" in text_of()
    assert "noalias" not in text_of(**{"tir.noalias": False})


def test_pointers_made_from_others_are_not_noalias() -> None:
    from tvm.ir.type import PointerType, PrimType
    from tvm.tir.op import builtin

    arena = decl_buffer((64,), "float32", "arena")
    part_var = e.Var("part", PointerType(PrimType("float32")))
    part = Buffer(part_var, "float32", [32], name="part")
    i = e.Var("i", "int32")
    both = e.Add(e.BufferLoad(arena, [i]), e.FloatImm("float32", 1))
    loop = s.For(i, 0, 32, PARALLEL, s.BufferStore(part, both, [i]))
    body = s.LetStmt(part_var, builtin.handle_add_byte_offset(arena.data, i32(128)), loop)
    module = compiled(kernel([arena], body))
    values = np.arange(64, dtype="float32")
    expected = values.copy()
    expected[32:] = values[:32] + 1
    assert call(module, values) == 0
    np.testing.assert_array_equal(values, expected)
