from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.transform import CombineContextCall

pytestmark = pytest.mark.pure


def context() -> e.Call:
    made = e.Call("handle", "tir.call_extern", [e.StringImm("make")])
    return e.Call("handle", "tir.tvm_thread_context", [made])


def use(number: object) -> s.Evaluate:
    args = [e.StringImm("use"), context(), number]
    return s.Evaluate(e.Call("int32", "tir.call_extern", args))


def combined(body: s.Stmt) -> s.Stmt:
    func = PrimFunc([], body).with_attr("global_symbol", "main")
    return CombineContextCall()(IRModule.from_expr(func))["main"].body


def test_one_context_for_all_calls() -> None:
    i = e.Var("i", "int32")
    body = combined(s.SeqStmt([use(T.int32(1)), s.For(i, 0, 4, 0, use(i))]))
    lets = [node for node in walk(body) if isinstance(node, s.LetStmt)]
    assert len(lets) == 1
    assert body is lets[0]
    assert lets[0].var.name == "ctx_cache_"
    uses = [n for n in walk(body) if isinstance(n, s.Evaluate)]
    assert all(n.value.args[1] is lets[0].var for n in uses)


def test_in_front_of_a_parallel_loop() -> None:
    i = e.Var("i", "int32")
    body = combined(s.SeqStmt([use(T.int32(1)), s.For(i, 0, 4, s.ForKind.PARALLEL, use(i))]))
    lets = [node for node in walk(body) if isinstance(node, s.LetStmt)]
    assert len(lets) == 2
    (loop,) = [node for node in walk(body) if isinstance(node, s.For)]
    assert lets[1].body is loop


def test_keeps_code_without_contexts() -> None:
    body = s.Evaluate(e.IntImm("int32", 0))
    assert combined(body) is body
