"""Gradients through functions, branches, data and references, beside what calculus says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform as t
from tvm.relay.testing import make_nat_expr, run_infer_type

pytestmark = pytest.mark.pure
TYPE = relay.TensorType((3, 2), "float32")
WITH_GRADIENT = relay.FuncType([TYPE], relay.TupleType([TYPE, relay.TupleType([TYPE])]))
VALUE = np.random.default_rng(7).uniform(0.5, 1.5, (3, 2)).astype("float32")


def var(name: str = "x") -> Any:
    return relay.var(name, TYPE)


def check(func: Any, value: Any, slope: Any, mod: Any = None) -> Any:
    """The function's value and slope at VALUE; the module with the gradient."""
    mod = tvm.IRModule() if mod is None else mod
    mod["main"] = func
    mod = t.InferType()(mod)
    mod["main"] = t.gradient(mod["main"], mod)
    mod = t.InferType()(mod)
    assert mod["main"].checked_type == WITH_GRADIENT
    found, (grad,) = relay.create_executor("debug", mod=mod).evaluate()(VALUE)
    np.testing.assert_allclose(found.numpy(), value, rtol=1e-5)
    np.testing.assert_allclose(grad.numpy(), slope, rtol=1e-5)
    return mod


def test_the_second_derivative() -> None:
    x, y = var(), var("y")
    once = run_infer_type(t.gradient(run_infer_type(relay.Function([x], x * x * x))))
    slope = relay.TupleGetItem(relay.TupleGetItem(relay.Call(once, [y]), 1), 0)
    check(relay.Function([y], slope), 3 * VALUE**2, 6 * VALUE)


def test_functions_as_values() -> None:
    x, f, g, y = var(), relay.Var("f"), relay.Var("g"), var("y")
    twice = relay.Function([g, y], relay.Call(g, [relay.Call(g, [y])]))
    square = relay.Function([i := var("i")], i * i)
    body = relay.Let(f, twice, relay.Call(f, [square, x]))
    check(relay.Function([x], body), VALUE**4, 4 * VALUE**3)


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch(taken: bool) -> None:
    x = var()
    body = relay.If(relay.const(taken), x * x, x + x)
    check(relay.Function([x], body), VALUE**2 if taken else 2 * VALUE, 2 * VALUE if taken else 2)


def test_references() -> None:
    x, r, done = var(), relay.Var("r"), relay.Var("done")
    doubled = relay.RefWrite(r, relay.RefRead(r) + relay.RefRead(r))
    body = relay.Let(r, relay.RefCreate(x), relay.Let(done, doubled, relay.RefRead(r)))
    check(relay.Function([x], body), 2 * VALUE, 2)


def test_functions_of_the_module_and_data() -> None:
    prelude = relay.prelude.Prelude()
    mod = prelude.mod
    mod.import_from_std("nat.rly")
    x, i = var(), var("i")
    iterate = relay.Call(
        mod.get_global_var("nat_iterate"),
        [relay.Function([i], i + i), make_nat_expr(prelude, 3)],
    )
    made = check(relay.Function([x], relay.Call(iterate, [x])), 8 * VALUE, 8, mod)
    assert "nat_iterate_grad" in [v.name_hint for v in made.get_global_vars()]


def test_a_list() -> None:
    mod = relay.prelude.Prelude().mod
    _, cons, nil = mod.get_type("List")
    x, a, b = var(), var("a"), var("b")
    xs = cons(x, cons(x, nil()))
    product = relay.Call(mod.get_global_var("foldl"), [relay.Function([a, b], a * b), x, xs])
    check(relay.Function([x], product), VALUE**3, 3 * VALUE**2, mod)


def test_results_and_parameters_are_data() -> None:
    f = relay.var("f", relay.FuncType([TYPE], TYPE))
    x = var()
    with pytest.raises(tvm.TVMError, match="legal: tensors and tuples of them"):
        t.gradient(run_infer_type(relay.Function([f, x], relay.Call(f, [x]))))
    with pytest.raises(tvm.TVMError, match="legal: calls of operators, tuples and lets"):
        t.gradient(relay.Function([x], relay.If(relay.const(True), x, x)), mode="first_order")
