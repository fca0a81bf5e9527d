"""Patterns of compilers by name."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.op.contrib import get_pattern_table, register_pattern_table


@register_pattern_table("docs.parts")
def parts() -> list[Any]:
    return [("parts.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]


def test_patterns_by_name() -> None:
    assert get_pattern_table("nobody") is None
    found = get_pattern_table("docs.parts")
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(relay.add(x, y))))
    made = relay.transform.MergeComposite(found)(mod)
    assert made["main"].body.op.attrs["Composite"] == "parts.add_relu"
    assert register_pattern_table("docs.parts", lambda: []) is not None
    assert get_pattern_table("docs.parts") == []
