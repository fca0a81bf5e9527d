"""What several scopes share is bound around them; everything else stays a graph."""

from __future__ import annotations

import pytest

import tvm
from tests.relay.transform.numbers import module, same_numbers
from tvm import relay
from tvm.relay.analysis import check_basic_block_normal_form

pytestmark = pytest.mark.pure
PASS = relay.transform.ToBasicBlockNormalForm()


def shared_by_branches() -> tuple[tvm.IRModule, relay.Expr]:
    x = relay.var("x", shape=(2,))
    c = relay.less(relay.sum(x), relay.const(1.0))
    t = relay.exp(x)
    return module(relay.If(c, relay.add(t, t), relay.tanh(t)), x), t


def test_values_of_two_branches_are_bound_before_them() -> None:
    before, _ = shared_by_branches()
    after = PASS(before)
    body = after["main"].body
    assert isinstance(body, relay.Let)
    assert body.value.op.name == "exp"
    assert isinstance(body.body, relay.If)
    assert body.body.true_branch.args[0] is body.var
    assert check_basic_block_normal_form(after["main"])
    same_numbers(before, after)


def test_values_of_one_scope_stay_a_graph() -> None:
    x = relay.var("x", shape=(2,))
    t = relay.exp(x)
    before = module(relay.add(t, t), x)
    tvm.ir.assert_structural_equal(PASS(before), relay.transform.InferType()(before))


def test_values_of_one_branch_stay_in_it() -> None:
    x = relay.var("x", shape=(2,))
    c = relay.less(relay.sum(x), relay.const(1.0))
    t = relay.exp(x)
    after = PASS(module(relay.If(c, relay.add(t, t), x), x))
    assert isinstance(after["main"].body, relay.If)


def test_nested_branches() -> None:
    x = relay.var("x", shape=(2,))
    c = relay.less(relay.sum(x), relay.const(1.0))
    t = relay.exp(x)
    inner = relay.If(c, relay.negative(t), relay.tanh(t))
    before = module(relay.If(c, inner, x), x)
    after = PASS(before)
    outer = after["main"].body
    while isinstance(outer, relay.Let):  # the condition is shared too
        assert outer.value.op.name != "exp"
        outer = outer.body
    assert isinstance(outer.true_branch, relay.Let), "no further out than its uses"
    same_numbers(before, after)


def test_lets_and_functions_keep_their_scopes() -> None:
    x, v, y = relay.var("x", shape=(2,)), relay.var("v"), relay.var("y", shape=(2,))
    t = relay.exp(x)
    func = relay.Function([y], relay.add(y, t))
    before = module(relay.Let(v, relay.tanh(t), relay.add(relay.Call(func, [v]), t)), x)
    after = PASS(before)
    assert check_basic_block_normal_form(after["main"])
    same_numbers(before, after)


def test_programs_that_are_not_in_this_form_are_refused() -> None:
    before, _ = shared_by_branches()
    with pytest.raises(tvm.TVMError, match=r"its scope should be lifted[\s\S]*exp"):
        check_basic_block_normal_form(before["main"])


def test_long_programs() -> None:
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(3000):
        body = relay.tanh(body)
    for at in range(3000):
        body = relay.Let(relay.var(f"v{at}"), relay.const(1.0), body)
    func = relay.Function([x], body)
    assert check_basic_block_normal_form(func)
    assert PASS(tvm.IRModule.from_expr(func)) is not None
