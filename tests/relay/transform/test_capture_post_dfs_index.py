"""Places in the post-order as spans."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.relay import transform

pytestmark = pytest.mark.pure


def name(expr: Any) -> str:
    return expr.span.source_name.name


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
    # a call stands behind its operator and its operands; x is read by exp and by the function
    assert [name(e) for e in (made.params[0], exp, log, sqrt, add, relu, made)] == [
        "index:0:11", "index:5:9", "index:6:9", "index:8:9", "index:9:10", "index:10:11",
        "index:11:-1",
    ]  # fmt: skip
    assert relu.op is relay.op.get("nn.relu")
    assert relu.op.span is None
