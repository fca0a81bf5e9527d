"""Places in the post-order as spans."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.relay import transform

pytestmark = pytest.mark.pure


def name(expr: Any) -> str:
    return str(expr.span)


def test_index_and_dominator() -> None:
    x = relay.var("x", shape=(4,))
    y = relay.exp(x)  # read by two, which meet in the sum
    total = relay.add(relay.log(y), relay.sqrt(y))
    func = relay.Function([x], relay.nn.relu(total))
    made = transform.CapturePostDfsIndexInSpans()(tvm.IRModule.from_expr(func))["main"]
    relu = made.body
    add = relu.args[0]
    log, sqrt = add.args
    exp = log.args[0]
    assert sqrt.args[0] is exp
    # a call stands behind its operator and its operands
    assert [name(e) for e in (made.params[0], exp, log, sqrt, add, relu, made)] == [
        "index:0:5", "index:5:9", "index:6:9", "index:8:9", "index:9:10", "index:10:11",
        "index:11:-1",
    ]  # fmt: skip
    assert relu.op is relay.op.get("nn.relu")
    assert relu.op.span is None


def test_lets_and_functions_within() -> None:
    x, y, a = relay.var("x", shape=(2,)), relay.var("y", shape=(2,)), relay.Var("a")
    inner = relay.Function([y], relay.exp(y))
    choice = relay.If(relay.const(True), relay.add(a, a), x)
    func = relay.Function([x, relay.var("unused")], relay.Let(a, inner(x), choice))
    made = transform.CapturePostDfsIndexInSpans()(tvm.IRModule.from_expr(func))["main"]
    let = made.body
    fn = let.value.op
    assert [name(e) for e in (*made.params, *fn.params, fn.body, fn, let.value, let.var)] == [
        "index:0:11", "index:1:-1", "index:2:4", "index:4:5", "index:5:6", "index:6:7",
        "index:7:10",
    ]  # fmt: skip
    add = let.body.true_branch
    assert [name(e) for e in (let.body.cond, add, let.body, let, made)] == [
        "index:8:11", "index:10:11", "index:11:12", "index:12:13", "index:13:-1",
    ]  # fmt: skip
