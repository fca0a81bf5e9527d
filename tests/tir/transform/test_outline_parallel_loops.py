"""Bodies that run elsewhere: what becomes of them, and that programs mean what they meant."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import i32, packed, vector
from tvm.ir.module import IRModule
from tvm.ir.type import PointerType, PrimType
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.interp import run
from tvm.tir.op import builtin
from tvm.tir.transform.outline_parallel_loops import (
    IS_TASK,
    MAX_ITERATIONS,
    MAY_ALIAS,
    OutlineParallelLoops,
)

pytestmark = pytest.mark.pure
PARALLEL = s.ForKind.PARALLEL


@I.ir_module
class Copy:
    @T.prim_func(private=True)
    def f(A: T.handle("float32"), B: T.handle("float32"), n: T.int32):
        A_1 = T.decl_buffer((64,), data=A)
        B_1 = T.decl_buffer((64,), data=B)
        for i in T.parallel(1, n):
            B_1[i] = A_1[i]


EXPECTED = """
    @T.prim_func(private=True)
    def __tvm_parallel_lambda(task_id: T.int32, env: T.handle, closure: T.handle):
        T.func_attr({"tir.is_parallel_task": True, "tir.outlined_from": "f"})
        start: T.int32 = T.tvm_struct_get(closure, 0, 12, "int32")
        extent: T.int32 = T.tvm_struct_get(closure, 1, 12, "int32")
        B: T.handle("float32", "global") = T.tvm_struct_get(closure, 2, 12, "handle")
        A: T.handle("float32", "global") = T.tvm_struct_get(closure, 3, 12, "handle")
        count: T.int64 = T.Cast("int64", T.tvm_struct_get(env, 0, 32, "int32"))
        first: T.int64 = T.Div(T.Cast("int64", extent) * T.Cast("int64", task_id), count)
        last: T.int64 = T.Div(T.Cast("int64", extent) * (T.Cast("int64", task_id) + T.int64(1)), count)
        Module.f_parallel_i(start + T.Cast("int32", first), T.Cast("int32", last - first), B, A)

    @T.prim_func(private=True)
    def f(A: T.handle("float32", "global"), B: T.handle("float32", "global"), n: T.int32):
        A_1 = T.decl_buffer((64,), data=A)
        B_1 = T.decl_buffer((64,), data=B)
        extent: T.int32 = n - 1
        closure: T.handle = T.tvm_stack_alloca("arg_value", 4)
        T.tvm_struct_set(closure, 0, 12, T.int64(1))
        T.tvm_struct_set(closure, 1, 12, extent)
        T.tvm_struct_set(closure, 2, 12, B)
        T.tvm_struct_set(closure, 3, 12, A)
        if extent > 0:
            T.parallel_launch("__tvm_parallel_lambda", closure, extent)

    @T.prim_func(private=True)
    def f_parallel_i(start: T.int32, extent: T.int32, B: T.handle("float32", "global"), A: T.handle("float32", "global")):
        T.func_attr({"tir.outlined_from": "f"})
        for i in range(start, start + extent):
            B_1 = T.Buffer((64,), data=B)
            A_1 = T.Buffer((64,), data=A)
            B_1[i] = A_1[i]
"""  # noqa: E501


def test_a_loop_becomes_a_task_and_a_body() -> None:
    text = OutlineParallelLoops()(Copy).script()
    assert text.partition("class Module:")[2].strip() == EXPECTED.strip()


def test_no_variable_is_shared() -> None:
    mod = OutlineParallelLoops()(Copy)
    assert tvm.tir.analysis.verify_well_formed(mod)
    assert not set(mod["f"].params) & set(mod["f_parallel_i"].params)


def test_functions_without_such_bodies_stay_and_so_do_those_that_were_here() -> None:
    once = OutlineParallelLoops()(Copy)
    assert OutlineParallelLoops()(once) is once


def outlined(body: s.Stmt, params: list[e.Var], **attrs: object) -> IRModule:
    return OutlineParallelLoops()(IRModule({"f": PrimFunc(params, body, attrs=attrs)}))


def launch_of(mod: IRModule, name: str = "f") -> e.Call:
    (call,) = [
        node for node in walk(mod[name].body)
        if isinstance(node, e.Call) and getattr(node.op, "name", "") == "tir.parallel_launch"
    ]  # fmt: skip
    return call


@pytest.mark.parametrize(("extent", "grain", "count"), [(64, None, 64), (64, 5, 12), (3, 5, 1)])
def test_constant_extents_need_no_check(extent: int, grain: int | None, count: int) -> None:
    b, i = decl_buffer((64,), "int32", "b"), e.Var("i", "int32")
    notes = {} if grain is None else {"parallel_grain": grain}
    loop = s.For(i, 0, extent, PARALLEL, s.BufferStore(b, i, [i]), annotations=notes)
    mod = outlined(loop, [b.data])
    assert launch_of(mod).args[2].value == count
    assert not any(isinstance(node, s.IfThenElse) for node in walk(mod["f"].body))
    share = mod["f_parallel_i"].body
    assert dict(share.annotations) == {MAX_ITERATIONS: extent}
    assert mod["__tvm_parallel_lambda"].attrs[IS_TASK]


def test_loops_without_iterations_go() -> None:
    b, i = decl_buffer((64,), "int32", "b"), e.Var("i", "int32")
    mod = outlined(s.For(i, 0, 0, PARALLEL, s.BufferStore(b, i, [i])), [b.data])
    assert [var.name_hint for var in mod.functions] == ["f"]


def test_wide_loops_make_no_more_tasks_than_int32_counts() -> None:
    b, n, i = decl_buffer((64,), "int32", "b"), e.Var("n", "int64"), e.Var("i", "int64")
    mod = outlined(s.For(i, 0, n, PARALLEL, s.BufferStore(b, i32(1), [i])), [b.data, n])
    assert str(launch_of(mod).args[2]) == 'T.Cast("int32", T.min(n, T.int64(2147483647)))'


def test_pointers_into_the_memory_of_others_are_told() -> None:
    arena = decl_buffer((64,), "float32", "arena")
    part = Buffer(e.Var("part", PointerType(PrimType("float32"))), "float32", [32], name="part")
    i = e.Var("i", "int32")
    loop = s.For(i, 0, 32, PARALLEL, s.BufferStore(part, e.BufferLoad(arena, [i]), [i]))
    body = s.LetStmt(part.data, builtin.handle_add_byte_offset(arena.data, i32(128)), loop)
    mod = outlined(body, [arena.data], **{"tir.noalias": False})
    made = mod["f_parallel_i"]
    assert [made.params[n].name for n in made.attrs[MAY_ALIAS]] == ["part"]
    assert not made.attrs["tir.noalias"]


def test_volatile_memory_is_volatile_in_the_body() -> None:
    b, i = decl_buffer((64,), "int32", "b"), e.Var("i", "int32")
    loop = s.For(i, 0, 64, PARALLEL, s.BufferStore(b, i, [i]))
    mod = outlined(s.AttrStmt(b.data, "volatile_scope", i32(1), loop), [b.data])
    inside = mod["f_parallel_i"].body
    assert isinstance(inside, s.AttrStmt)
    assert (inside.node, inside.attr_key) == (mod["f_parallel_i"].params[2], "volatile_scope")


def nest(rows: int) -> s.For:
    b, i, j = decl_buffer((64,), "int32", "b"), e.Var("i", "int32"), e.Var("j", "int32")
    inner = s.For(j, 0, 8, PARALLEL, s.BufferStore(b, i * 8 + j, [i * 8 + j]))
    return s.For(i, 0, rows, PARALLEL, inner)


def test_loops_inside_are_serial() -> None:
    loop = nest(8)
    mod = outlined(loop, [next(n.buffer.data for n in walk(loop) if isinstance(n, s.BufferStore))])
    kinds = [n.kind for f in mod.functions.values() for n in walk(f.body) if isinstance(n, s.For)]
    assert kinds == [s.ForKind.SERIAL, s.ForKind.SERIAL]


def test_compute_scopes_are_called() -> None:
    func = packed("f", 1, lambda b: s.BufferStore(b, i32(1), [i32(0)]), "int32")
    mod = OutlineParallelLoops()(IRModule({"main": func}))
    assert [var.name_hint for var in mod.functions] == ["main", "f"]
    assert "compute_scope" not in mod["main"].script()
    assert [param.name for param in mod["f"].params] == ["B0"]


def test_names_are_fresh() -> None:
    b, i = decl_buffer((64,), "int32", "b"), e.Var("i", "int32")
    loop = s.For(i, 0, 64, PARALLEL, s.BufferStore(b, i, [i]))
    func = PrimFunc([b.data], s.SeqStmt([loop, loop]))
    mod = OutlineParallelLoops()(IRModule({"f": func, "f_parallel_i": func}))
    assert len(mod.functions) == 2 + 8


@pytest.mark.parametrize("n", [0, 1, 2, 7, 63])
def test_programs_mean_what_they_meant(n: int) -> None:
    a, b, c = np.arange(64, dtype="float32"), np.zeros(64, "float32"), np.zeros(64, "float32")
    run(Copy, a, b, n, name="f")
    run(OutlineParallelLoops()(Copy), a, c, n, name="f")
    np.testing.assert_array_equal(b, c)


def test_vectors_go_through_memory() -> None:
    a, b, i = *(decl_buffer((64,), "float32", n) for n in "ab"), e.Var("i", "int32")
    lanes = e.Var("lanes", "float32x4")
    at = vector(i * 4, 4)
    loop: s.Stmt = s.For(i, 0, 16, PARALLEL, s.BufferStore(b, e.BufferLoad(a, [at]) + lanes, [at]))
    loop = s.LetStmt(lanes, e.BufferLoad(a, [vector(4, 4)]), loop)
    mod = outlined(loop, [a.data, b.data])
    assert all(not p.dtype.is_vector for f in mod.functions.values() for p in f.params)
    given, found = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    run(mod, given, found, name="f")
    np.testing.assert_array_equal(found, given + np.tile(given[4:8], 16))


def test_a_pass_instrument_sees_it() -> None:
    seen: list[str] = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_after_pass(self, mod: IRModule, info: object) -> None:
            seen.append(info.name)  # type: ignore[attr-defined]

    with tvm.transform.PassContext(instruments=[Names()]):
        tvm.tir.build(IRModule({"main": double}), target="c")
    assert seen.count("tir.OutlineParallelLoops") == 1


@T.prim_func
def double(A: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.parallel(64):
        A[i] = A[i] * T.float32(2)
