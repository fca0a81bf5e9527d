"""Types are written into the result; what was given stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay

pytestmark = pytest.mark.pure


def infer(func: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(func))["main"]


def test_the_given_program_stays_without_types() -> None:
    x, v = relay.var("x", shape=(2,)), relay.var("v", shape=(2,))
    func = relay.Function([x], relay.Let(v, relay.exp(x), relay.log(v)))
    before = func.astext()
    typed = infer(func)
    assert func.astext() == before
    for expr in (x, v, func, func.body, func.body.value):
        with pytest.raises(ValueError, match="has not populated"):
            expr.checked_type
    assert typed.params[0].checked_type == typed.body.checked_type == x.type_annotation
    assert "ty=" not in relay.Function([x], relay.exp(x)).astext()


def test_variables_stay_equal() -> None:
    x = relay.var("x", shape=(2,))
    pair = relay.Tuple([relay.exp(x), relay.const(1.0)])
    typed = infer(relay.Function([x], pair))
    assert typed.body.fields[0].args[0].same_as(typed.params[0])
    assert typed.params[0].vid == x.vid
    tvm.ir.assert_structural_equal(infer(relay.Function([x], pair)), typed)


def test_what_has_its_type_is_kept() -> None:
    typed = infer(relay.Function([x := relay.var("x", shape=(2,))], relay.exp(x)))
    assert infer(typed).body.same_as(typed.body)


def test_an_expression_asked_for_alone_knows_its_type() -> None:
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    found = relay.transform.InferTypeLocal(y)
    assert y.checked_type == found == x.type_annotation
