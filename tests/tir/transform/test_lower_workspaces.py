"""Scratch memory from the pool: where it is taken, and that every way out gives it back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend.llvm import kernel
from tests.backend.llvm.kernel import compiled, i32
from tvm.ir.module import IRModule
from tvm.runtime import debug_memory
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run
from tvm.tir.op import builtin
from tvm.tir.transform.lower_workspaces import LowerWorkspaces

TRUE = e.IntImm("bool", 1)


def lowered(func: PrimFunc) -> PrimFunc:
    return LowerWorkspaces()(IRModule({"f": func}))["f"]


def text_of(func: PrimFunc) -> str:
    """The body as it is printed."""
    return lowered(func).script().partition("):\n")[2]


@T.prim_func(private=True)
def large(A: T.handle("float32")):
    A_1 = T.decl_buffer((4,), data=A)
    temp = T.allocate([100000], "float32")
    temp_1 = T.decl_buffer((100000,), data=temp)
    temp_1[0] = A_1[0]
    A_1[1] = temp_1[0]


@pytest.mark.pure
def test_large_memory_is_a_workspace() -> None:
    assert text_of(large) == EXPECTED_LARGE.strip("\n")


EXPECTED_LARGE = """
    A_1 = T.decl_buffer((4,), data=A)
    temp: T.handle("float32", "global") = T.TVMBackendAllocWorkspace(1, 0, T.int64(400000), 2, 32)
    if T.isnullptr(temp):
        T.tvm_throw_last_error()
    with T.attr(0, "tir.on_failure", T.tvm_tuple(T.TVMBackendFreeWorkspace(1, 0, temp))):
        temp_1 = T.decl_buffer((100000,), data=temp)
        temp_1[0] = A_1[0]
        A_1[1] = temp_1[0]
    T.TVMBackendFreeWorkspace(1, 0, temp)
"""


@pytest.mark.pure
def test_small_memory_stays_unless_it_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    temp = decl_buffer((8,), "float32", "temp")
    body = s.Allocate(temp.data, "float32", [8], TRUE,
                      s.BufferStore(temp, e.FloatImm("float32", 0), [i32(0)]))  # fmt: skip
    func = PrimFunc([], body)
    assert lowered(func) is func
    monkeypatch.setattr(debug_memory, "enabled", lambda: True)
    assert "AllocWorkspace" in text_of(func)


@T.prim_func(private=True)
def rows(A: T.handle("float32"), n: T.int32, m: T.int32):
    A_1 = T.decl_buffer((n * m,), data=A)
    for i in range(n):
        for j in range(2):
            temp = T.allocate([m - 2], "float32")
            temp_1 = T.decl_buffer((m - 2,), data=temp)
            temp_1[0] = A_1[i * m]
            A_1[i * m + 1] = temp_1[0]


@pytest.mark.pure
def test_memory_of_known_size_is_taken_before_the_outermost_loop() -> None:
    text = text_of(rows)
    assert text.index("AllocWorkspace") < text.index("for i, j in T.grid(n, 2)")
    assert "T.max(m - 2, 0)" in text  # a loop without a round may have any size
    assert text.count("FreeWorkspace") == 2


def inside(jump: e.PrimExpr, *, in_loop: bool = True) -> PrimFunc:
    """Memory whose size is data, and a jump out of its scope."""
    a, temp = decl_buffer((4,), "int32", "A"), decl_buffer((1,), "float32", "temp")
    i = e.Var("i", "int32")
    use = s.IfThenElse(e.BufferLoad(a, [i32(1)]) > 0, s.Evaluate(jump))
    body: s.Stmt = s.Allocate(temp.data, "float32", [e.BufferLoad(a, [i32(0)])], TRUE,
                              s.SeqStmt([use, s.BufferStore(a, i32(1), [i32(2)])]))  # fmt: skip
    return PrimFunc([a.data], s.For(i, 0, 4, s.ForKind.SERIAL, body) if in_loop else body)


@pytest.mark.pure
@pytest.mark.parametrize("jump", ["break_loop", "continue_loop"])
def test_jumps_out_of_loops_give_back_what_was_taken_in_them(jump: str) -> None:
    text = text_of(inside(getattr(builtin, jump)()))
    assert f"T.TVMBackendFreeWorkspace(1, 0, temp)\n                T.{jump}()" in text


@pytest.mark.pure
def test_what_was_taken_before_a_loop_stays_when_a_jump_leaves_it() -> None:
    temp, out, i = decl_buffer((9999,), "int32", "temp"), decl_buffer((4,), "int32", "A"), e.Var(
        "i", "int32")  # fmt: skip
    loop = s.For(i, 0, 4, s.ForKind.SERIAL, s.Evaluate(builtin.break_loop()))
    func = PrimFunc([out.data], s.Allocate(temp.data, "int32", [9999], TRUE, loop))
    assert text_of(func).count("T.TVMBackendFreeWorkspace(1, 0, temp)") == 2


@pytest.mark.pure
def test_results_are_computed_before_memory_is_given_back() -> None:
    a = inside(i32(0)).params[0]
    value = e.BufferLoad(decl_buffer((4,), "int32", "A", a), [i32(3)])
    text = text_of(inside(builtin.ret(value)))
    lines = [line.strip() for line in text.splitlines()]
    at = next(n for n, line in enumerate(lines) if line.startswith("result: T.int32 ="))
    assert lines[at + 1 : at + 3] == ["T.TVMBackendFreeWorkspace(1, 0, temp)", "return result"]


@pytest.mark.pure
def test_programs_mean_what_they_meant() -> None:
    a, b = np.arange(12, dtype="float32"), np.arange(12, dtype="float32")
    run(IRModule({"main": rows}), a, 3, 4)
    run(IRModule({"main": lowered(rows)}), b, 3, 4)
    np.testing.assert_array_equal(a, b)


def many(count: int) -> PrimFunc:
    """Nested workspaces, and something that may fail in each."""
    b = decl_buffer((4,), "int32", "B")
    body: s.Stmt = s.BufferStore(b, i32(7), [i32(1)])
    for n in reversed(range(count)):
        temp = decl_buffer((99_999,), "int32", f"temp{n}")
        holds = e.BufferLoad(b, [i32(0)]) != i32(n)
        check = s.AssertStmt(holds, e.StringImm(f"ValueError: number {n}"), s.Evaluate(i32(0)))
        fill = s.BufferStore(temp, i32(n), [i32(n)])
        body = s.Allocate(temp.data, "int32", [99_999], TRUE, s.SeqStmt([fill, check, body]))
    return kernel.kernel([b], body)


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_code_for_failures_grows_with_the_number_of_workspaces(target: str) -> None:
    sizes = [len(compiled(many(n), target=target).inspect_source()) for n in (4, 20, 36)]
    assert sizes[2] - sizes[1] < 1.1 * (sizes[1] - sizes[0])


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("failing", [0, 3, 9])
def test_the_innermost_failure_reaches_the_caller(target: str, failing: int) -> None:
    def body(b: object) -> s.Stmt:
        inner = many(10)
        (data,) = inner.params
        return s.LetStmt(data, b.data, inner.body)  # type: ignore[attr-defined]

    module = kernel.built({"f": kernel.packed("f", 1, body, "int32")}, target)
    values = kernel_tensor(failing)
    with pytest.raises(ValueError, match=f"^number {failing}$"):
        module["f"](values)
    good = kernel_tensor(11)
    module["f"](good)
    assert good.numpy()[1] == 7


def kernel_tensor(first: int) -> object:
    from tvm.runtime import tensor

    values = np.zeros(64, "int32")
    values[0] = first
    return tensor(values)
