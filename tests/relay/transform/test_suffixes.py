"""Calls of one span are told apart by numbers."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.relay.transform.suffixes import tag_suffixes

pytestmark = pytest.mark.pure


def at(name: str) -> Span:
    return Span(SourceName(name), 3, 3, 1, 9)


def names(func: relay.Function) -> list[str]:
    found: list[str] = []
    relay.analysis.post_order_visit(
        func,
        lambda e: found.append(f"{e.op.name} {e.span}") if isinstance(e, relay.Call) else None,
    )
    return found


def test_numbers_begin_anew_for_each_name() -> None:
    add, exp = relay.op.get("add"), relay.op.get("exp")
    x = relay.var("x", shape=(2,))
    first = relay.Call(add, [x, x], span=at("conv"))
    second = relay.Call(exp, [first], span=at("act"))
    third = relay.Call(add, [second, first], span=at("conv"))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Call(exp, [third])))
    tagged = tag_suffixes(mod)
    assert names(tagged["main"]) == [
        "add conv_PART_0:3:1", "exp act_PART_0:3:1", "add conv_PART_1:3:1", "exp None",
    ]  # fmt: skip
    assert first.span.source_name.name == "conv"
    assert tvm.ir.structural_equal(mod, tagged)


def test_spans_of_several_sources_stay() -> None:
    x = relay.var("x", shape=(2,))
    both = SequentialSpan([at("a"), at("b")])
    call = relay.Call(relay.op.get("exp"), [x], span=both)
    tagged = tag_suffixes(tvm.IRModule.from_expr(relay.Function([x], call)))
    assert tagged["main"].body.span is both
