"""Partial evaluation, continuations, cells for gradients: less is left, and it means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay import transform as t
from tvm.relay.analysis import Feature, detect_feature
from tvm.relay.prelude import Prelude
from tvm.relay.testing import make_nat_expr, run_infer_type, run_opt_pass

pytestmark = pytest.mark.pure

FLOAT = relay.TensorType((), "float32")
INT = relay.TensorType((), "int32")


def evaluated(expr: Any, mod: Any = None) -> Any:
    passes = [t.PartialEvaluate(), t.DeadCodeElimination(True, True)]
    both = tvm.transform.Sequential(passes)
    if mod is None:
        return run_opt_pass(expr, both)
    mod["main"] = expr
    return both(mod)["main"]


def same(found: Any, wanted: Any) -> None:
    tvm.ir.assert_structural_equal(found, run_infer_type(wanted))


def test_places_are_followed() -> None:
    d, r, u = relay.Var("d", FLOAT), relay.Var("r"), relay.Var("u")
    square = relay.RefWrite(r, relay.RefRead(r) * relay.RefRead(r))
    body = relay.Let(r, relay.RefCreate(d), relay.Let(u, square, relay.RefRead(r)))
    same(evaluated(relay.Function([d], body)), relay.Function([d], d * d))


def test_what_a_branch_writes_is_not_known_after_it() -> None:
    c, r, u = relay.var("c", shape=(), dtype="bool"), relay.Var("r"), relay.Var("u")
    write = relay.If(c, relay.RefWrite(r, relay.const(2.0)), relay.RefWrite(r, relay.const(3.0)))
    body = relay.Let(r, relay.RefCreate(relay.const(1.0)), relay.Let(u, write, relay.RefRead(r)))
    mod = t.PartialEvaluate()(tvm.IRModule.from_expr(relay.Function([c], body)))
    run = relay.create_executor("debug", mod).evaluate()
    assert [float(run(flag).numpy()) for flag in (True, False)] == [2.0, 3.0]


def test_calls_whose_operands_get_smaller_are_written_out() -> None:
    x, f = relay.Var("x", INT), relay.Var("f")
    rest = x + f(x - relay.const(1))
    sums = relay.Function([x], relay.If(relay.equal(x, relay.const(0)), relay.const(0), rest))
    same(evaluated(relay.Let(f, sums, f(relay.const(10)))), relay.const(55))


def test_calls_that_go_on_for_ever_stay() -> None:
    mod, a = tvm.IRModule(), relay.TypeVar("a")
    x, loop = relay.Var("x", a), relay.GlobalVar("loop")
    mod[loop] = relay.Function([x], loop(x), a, [a])
    body = evaluated(relay.Function([], loop(relay.const(1))), mod).body
    assert isinstance(body, relay.Call)
    assert body.op.name_hint == "loop"


def test_data_is_taken_apart() -> None:
    mod = tvm.IRModule()
    p = Prelude(mod)
    mod.import_from_std("nat.rly")
    double = mod.get_global_var("nat_double")
    found = evaluated(relay.Function([], double(make_nat_expr(p, 2))), mod)
    wanted = relay.Function([], make_nat_expr(p, 4))
    mod["main"] = wanted
    tvm.ir.assert_structural_equal(found.body, t.InferType()(mod)["main"].body)


def test_unknown_data_keeps_its_cases() -> None:
    mod = tvm.IRModule()
    p = Prelude(mod)
    xs = relay.Var("xs", mod.get_global_type_var("List")(INT))
    mod["f"] = relay.Function([xs], p.sum(xs))
    after = t.PartialEvaluate()(t.InferType()(mod))
    _, cons, nil = mod.get_type("List")
    given = cons(relay.const(3), cons(relay.const(4), nil()))
    total = relay.Call(after.get_global_var("f"), [given])
    assert relay.create_executor("debug", after).evaluate(total).numpy() == 7


def test_continuations_and_back() -> None:
    mod = tvm.IRModule()
    x, i = relay.Var("x", FLOAT), relay.Var("i", INT)
    double, times = relay.GlobalVar("double"), relay.GlobalVar("times")
    mod[double] = relay.Function([x], x + x, FLOAT)
    step = double(times(i - relay.const(1), x))
    mod[times] = relay.Function([i, x], relay.If(relay.equal(i, relay.const(0)), x, step), FLOAT)
    mod["main"] = relay.Function([i, x], times(i, x))
    mod = t.InferType()(mod)
    with_answer = t.to_cps(mod["main"], mod)
    assert len(with_answer.params) == 3
    assert len(with_answer.type_params) == 1
    mod["main"] = with_answer
    direct = t.un_cps(t.InferType()(mod)["main"])
    mod["main"] = direct
    assert relay.create_executor("debug", mod).evaluate()(5, 2.0).numpy() == 64.0
    with pytest.raises(TVMError, match="un_cps"):
        t.un_cps(relay.Function([x], x))


def test_places_are_gone_after_continuations() -> None:
    c, d = relay.var("c", shape=(), dtype="bool"), relay.Var("d", FLOAT)
    r, u = relay.Var("r"), relay.Var("u")
    write = relay.If(c, relay.RefWrite(r, d + d), relay.RefWrite(r, d * d))
    body = relay.Let(r, relay.RefCreate(d), relay.Let(u, write, relay.RefRead(r)))
    func = run_infer_type(t.to_cps(run_infer_type(relay.Function([c, d], body))))
    assert Feature.fRefCreate not in detect_feature(evaluated(func))


@pytest.mark.parametrize("build", [
    lambda x, y: x + y, lambda x, y: x * y + relay.zeros_like(x),
    lambda x, y: x * relay.ones_like(x),
    lambda x, y: x * relay.zeros_like(x) + relay.ones((2, 3), "float32"),
    lambda x, y: relay.TupleGetItem(relay.Tuple([x * y, relay.exp(x)]), 1),
])  # fmt: skip
def test_lazy_gradients_are_the_same_gradients(build: Any) -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    func = t.gradient(run_infer_type(relay.Function([x, y], build(x, y))))
    mod = t.InferType()(tvm.IRModule.from_expr(func))
    after = t.LazyGradientInit()(mod)
    assert after["main"].checked_type == mod["main"].checked_type
    given = [np.random.default_rng(i).random((2, 3), "float32") for i in (0, 1)]
    found, wanted = (
        relay.create_executor("debug", one).evaluate()(*given) for one in (after, mod)
    )
    np.testing.assert_allclose(found[0].numpy(), wanted[0].numpy(), rtol=1e-5)
    for a, b in zip(found[1], wanted[1]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
