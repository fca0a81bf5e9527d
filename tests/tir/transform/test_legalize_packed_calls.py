from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform import LegalizePackedCalls, LowerTVMBuiltin

NAME = "testing.legalize_packed_calls.note"


@T.prim_func
def calls(A: T.Buffer((2, 3), "float32"), n: T.int32):
    T.evaluate(
        T.call_packed(
            "testing.legalize_packed_calls.note",
            "first",
            T.tvm_stack_make_array(
                A.data, T.tvm_stack_make_shape(2, 3, dtype="handle"), 0, 2, T.float32(0), 0,
                dtype="handle",
            ),
            n,
            T.float32(2.5),
            n > 3,
        )
    )
    T.evaluate(T.call_packed("testing.legalize_packed_calls.note", "second", "third"))


def packed(mod: IRModule) -> list[list[Any]]:
    func = mod["calls"]
    assert isinstance(func, tir.PrimFunc)
    found = [n for n in walk(func.body) if isinstance(n, tir.Call)]
    return [list(n.args[1:]) for n in found if getattr(n.op, "name", "") == "tir.tvm_call_packed"]


def name_of(node: object) -> str:
    return getattr(node.op, "name", "") if isinstance(node, tir.Call) else ""


@pytest.mark.pure
def test_strings_and_structures_lie_on_the_stack() -> None:
    first, second = packed(LegalizePackedCalls()(IRModule.from_expr(calls)))
    shown = [name_of(arg) == "tir.tvm_struct_get" for arg in first]
    assert shown == [True, True, False, False, False]
    assert [name_of(arg) for arg in second] == ["tir.tvm_struct_get"] * 2


@pytest.mark.pure
def test_before_and_after() -> None:
    @T.prim_func
    def before(n: T.int32):
        T.evaluate(T.call_packed("f", "text", n))

    @T.prim_func
    def after(n: T.int32):
        value: T.handle = T.tvm_stack_alloca("tvm_ffi_any", 1)
        T.evaluate(T.tvm_struct_set(value, 0, 13, 8))
        T.evaluate(T.tvm_struct_set(value, 0, 14, 0))
        T.evaluate(T.tvm_struct_set(value, 0, 15, "text"))
        T.evaluate(T.call_packed("f", T.tvm_struct_get(value, 0, 15, "handle"), n))

    made = LegalizePackedCalls()(IRModule({"f": before}))["f"]
    tvm.ir.assert_structural_equal(made, after.with_attr("global_symbol", "before"))


@pytest.mark.pure
def test_what_the_caller_made_stays() -> None:
    @T.prim_func
    def plain(A: T.handle, n: T.int32):
        T.evaluate(T.call_packed("f", A, n))
        T.evaluate(T.call_extern("int32", "g", "text"))

    mod = IRModule({"plain": plain})
    assert LegalizePackedCalls()(mod) is mod


@pytest.mark.pure
def test_the_c_convention_too() -> None:
    @T.prim_func
    def func():
        T.evaluate(T.tvm_call_cpacked("f", "text"))

    made = LegalizePackedCalls()(IRModule({"func": func}))["func"]
    assert made.body.value.op.name == "tir.tvm_stack_alloca"


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("legalized", [False, True])
def test_the_function_called_gets_the_same(target: str, legalized: bool) -> None:
    seen: list[Any] = []

    @tvm.register_global_func(NAME, override=True)
    def note(*args: Any) -> None:
        seen.append([a.numpy().tolist() if hasattr(a, "numpy") else a for a in args])

    mod = IRModule.from_expr(calls)
    lower = tvm.tir.get_tir_pipeline()
    steps = [LegalizePackedCalls()] if legalized else []
    run = tvm.transform.Sequential([*steps, lower])
    built = tvm.tir.build(mod, target, pipeline=run)
    data = np.arange(6, dtype="float32").reshape(2, 3)
    built["calls"](tvm.runtime.tensor(data), 4)
    assert seen == [["first", data.tolist(), 4, 2.5, True], ["second", "third"]]
    lowered = LowerTVMBuiltin()(LegalizePackedCalls()(mod))
    assert not packed(lowered)
