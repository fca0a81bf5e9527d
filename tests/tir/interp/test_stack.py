"""Functions in C's convention mean what they meant before they were lowered to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ffi import register_global_func
from tvm.ir.transform import Sequential
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.interp import run
from tvm.tir.interp.errors import AssertionFailed, InterpreterError
from tvm.tir.pipeline import default_tir_pipeline, finalize_host_passes
from tvm.tir.transform import BindTarget

pytestmark = pytest.mark.cpu


@T.prim_func
def program(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), n: T.int32):
    T.func_attr({"global_symbol": "main"})
    C = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("copy"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi]
    T.call_packed("testing.accumulate", A, B, n, T.float32(2), "text")
    for i in range(4):
        with T.block("add"):
            vi = T.axis.spatial(4, i)
            B[vi] = B[vi] + C[vi] * T.call_packed("testing.twice", vi, dtype="float32")


seen: list[tuple] = []


@pytest.fixture(autouse=True)
def registered() -> None:
    def accumulate(a, b, n: int, x: float, text: str) -> None:
        seen.append((n, x, text))
        b.copyfrom(a.numpy() + n + x)

    register_global_func("testing.accumulate", accumulate, override=True)
    register_global_func("testing.twice", lambda i: 2.0 * i, override=True)


def stages() -> Iterator[tuple[str, tvm.IRModule]]:
    mod = tvm.IRModule({"main": program})
    mod = BindTarget(Target("llvm", host="llvm"))(mod)
    yield "as written", mod
    for step in (default_tir_pipeline(), *finalize_host_passes().passes):
        mod = step(mod)
        yield str(step), mod


def test_each_stage_of_lowering() -> None:
    given = np.arange(4, dtype="float32")
    packed = 0
    for name, mod in stages():
        out = np.zeros(4, "float32")
        if mod["main"].attrs.get("calling_conv"):
            packed += 1
            assert run(mod, None, [given, out, 3], 3, [None]) == 0
        else:
            run(mod, given, out, 3)
        np.testing.assert_array_equal(out, given + 5 + given * 2 * np.arange(4), err_msg=name)
        assert seen.pop() == (3, 2.0, "text")
    assert packed >= 2


def test_builtins_lowered_alone() -> None:
    mod = tvm.IRModule({"main": program})
    steps = [tir.transform.LowerInitBlock(), tir.transform.PlanAndUpdateBufferAllocationLocation(),
             tir.transform.ConvertBlocksToOpaque(), tir.transform.LowerOpaqueBlock(),
             tir.transform.FlattenBuffer(), tir.transform.LowerTVMBuiltin()]  # fmt: skip
    given, out = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    run(Sequential(steps)(mod), given, out, 3)
    np.testing.assert_array_equal(out, given + 5 + given * 2 * np.arange(4))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([np.zeros(4, "float32")] * 2, "found: 2 were given"),
        ([np.zeros(4, "float32"), np.zeros(4), 3], "found: float64"),
        ([np.zeros(4, "float32"), np.zeros(5, "float32"), 3], "found: dimension 0 is 5"),
        ([np.zeros(4, "float32"), np.zeros(4, "float32"), "x"], "found: a string"),
    ],
)
def test_arguments_are_checked_as_in_compiled_code(args: list, said: str) -> None:
    (*_, (_, mod)) = stages()
    with pytest.raises(AssertionFailed, match=said):
        run(mod, None, args, len(args), [None])


def test_what_was_not_set_cannot_be_read() -> None:
    @T.prim_func
    def func(A: T.Buffer((1,), "int32")):
        stack: T.handle = T.tvm_stack_alloca("tvm_ffi_any", 2)
        T.tvm_struct_set(stack, 1, 15, T.int64(7))
        A[0] = T.Cast("int32", T.tvm_struct_get(stack, 1, 15, "int64"))
        A[0] = T.tvm_struct_get(stack, 0, 13, "int32")

    out = np.zeros(1, "int32")
    with pytest.raises(InterpreterError, match="ANY_TYPE_INDEX of element 0, which nothing has"):
        run(func, out)
    assert out[0] == 7


def test_errors_are_thrown_after_failures_only() -> None:
    @T.prim_func
    def func(n: T.int32):
        if n < 0:
            T.tvm_throw_last_error()

    run(func, 1)
    with pytest.raises(InterpreterError, match="no call that has failed"):
        run(func, -1)
