"""Packed calls without values: what the program then says, and what it gives."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import i32
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.transform import LowerTVMBuiltin
from tvm.tir.transform.lower_packed_calls import LowerPackedCalls

B = decl_buffer((1,), "int32", "B")
NAMED, TRACED = "tir.tvm_call_packed_lowered", "tir.tvm_call_trace_packed_lowered"


def lowered_call(op: str, *args: object, dtype: str = "int32") -> e.Call:
    stack = e.Var("stack", "handle")
    given = [e.as_expr(arg) if arg is not None else stack for arg in args]
    return e.Call(dtype, Op.get(op), given)


def after(value: e.PrimExpr, **others: PrimFunc) -> PrimFunc:
    body = s.BufferStore(B, value, [i32(0)])
    func = PrimFunc([B.data], body, attrs={"global_symbol": "main"})
    return LowerPackedCalls()(IRModule({"main": func, **others}))["main"]


def calls(func: PrimFunc) -> list[str]:
    return [n.op.name for n in walk(func.body) if isinstance(n, e.Call)]


@pytest.mark.pure
def test_the_value_is_read_behind_the_arguments() -> None:
    func = after(lowered_call(NAMED, e.StringImm("f"), None, i32(0), i32(2)))
    let = func.body.value
    assert isinstance(let, e.Let)
    assert let.value.dtype.is_void
    assert let.body.op.name == "tir.tvm_struct_get"
    assert [int(a) for a in let.body.args[1:]] == [2, 15]


@pytest.mark.pure
def test_lowered_functions_stay() -> None:
    func = after(lowered_call(NAMED, e.StringImm("f"), None, i32(0), i32(2)))
    mod = IRModule({"main": func})
    assert LowerPackedCalls()(mod) is mod


@pytest.mark.pure
def test_functions_of_the_module_are_called_by_symbol() -> None:
    own = PrimFunc([], s.Evaluate(i32(0)), attrs={"calling_conv": 1, "global_symbol": "f"})
    call = lowered_call(NAMED, e.StringImm("f"), None, i32(0), i32(2))
    assert "tir.tvm_call_cpacked_lowered" in calls(after(call, f=own))
    assert NAMED in calls(after(call))


@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "end", "words"),
    [
        (i32(7), i32(2), "found: 7 of type int32 as its name\n.*main\n  legal: a string as the"),
        (e.StringImm("f"), e.Var("n", "int32"), "in the slots from 0 to n\n.*main\n  legal: lit"),
    ],
)
def test_rejects(name: e.PrimExpr, end: e.PrimExpr, words: str) -> None:
    with pytest.raises(TVMError, match=words):
        after(lowered_call(NAMED, name, None, i32(0), end))


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("given", [None, 40])
def test_a_traced_call_gives_its_last_argument_for_none(target: str, given: int | None) -> None:
    tvm.register_global_func("tests.tir.traced", lambda *args: given, override=True)

    @T.prim_func
    def func(B: T.Buffer((1,), "int32")):
        B[0] = T.call_packed("tests.tir.traced", 7, B[0]) + 1

    packed = Op.get("tir.tvm_call_packed")
    traced = Op.get("tir.tvm_call_trace_packed")

    def with_trace(node: e.PrimExpr) -> e.PrimExpr:
        if isinstance(node, e.Call) and node.op is packed:
            return e.Call(node.dtype, traced, node.args)
        return node

    body = tvm.tir.stmt_functor.ir_transform(func.body, None, with_trace, ["tir.Call"])
    mod = IRModule({"func": func.with_body(body)})
    assert TRACED in calls(LowerTVMBuiltin()(mod)["func"])
    values = tvm.runtime.tensor(np.array([5], "int32"))
    tvm.compile(mod, target=target)(values)
    assert values.numpy().tolist() == [6 if given is None else 41]
