"""Whole functions of Relay as PrimFuncs: they mean what Relay's interpreter says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, tir
from tvm.driver.build_module import relay_to_tir

pytestmark = pytest.mark.cpu


def run(func: relay.Function, *args: Any, target: str = "llvm") -> None:
    mod = tvm.IRModule.from_expr(func)
    tir_mod = relay_to_tir(mod, {"main": mod["main"]})
    main = tir_mod["main"]
    assert isinstance(main, tir.PrimFunc)
    assert main.attrs["global_symbol"] == "main"
    wanted = relay.create_executor("debug", mod=mod).evaluate()(*args)
    wanted = [wanted] if hasattr(wanted, "numpy") else list(wanted)
    found = [tvm.runtime.tensor(np.zeros_like(w.numpy())) for w in wanted]
    built = tvm.tir.build(tir_mod, target)
    built["main"](*[tvm.runtime.tensor(a) for a in args], *found)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def data(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_network_with_constants(target: str) -> None:
    x = relay.var("x", shape=(1, 3, 6, 6))
    y = relay.nn.relu(relay.nn.conv2d(x, relay.const(data(4, 3, 3, 3)), padding=(1, 1)))
    y = relay.nn.batch_flatten(relay.nn.max_pool2d(y, (2, 2), strides=(2, 2)))
    z = relay.nn.softmax(relay.nn.dense(y, relay.const(data(5, 36))))
    run(relay.Function([x], z), data(1, 3, 6, 6), target=target)


def test_several_results_and_shared_values() -> None:
    x, y = relay.var("x", shape=(4, 3)), relay.var("y", shape=(3,))
    z = x * y
    run(relay.Function([x, y], relay.Tuple([relay.exp(z), relay.sum(z, axis=1)])), data(4, 3),
        data(3))  # fmt: skip


def test_numbers_that_are_known() -> None:
    x = relay.var("x", shape=(4,))
    run(relay.Function([x], (x + relay.const(1.5)) * relay.const(2.0)), data(4))


def test_lets_are_followed() -> None:
    x, a = relay.var("x", shape=(4,)), relay.var("a")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Let(a, relay.exp(x), a + a)))
    mod = relay.transform.ToANormalForm()(mod)
    run(mod["main"], data(4))


def test_constants_stand_in_the_function() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], x + relay.const([1.0, 2.0]))
    main = relay_to_tir(tvm.IRModule.from_expr(func))["main"]
    assert len(main.params) == 2
    assert "T.allocate_const([1.0, 2.0]" in str(main)


def test_the_functions_given_take_the_place_of_the_modules_own() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x))
    given = relay.Function([x], relay.exp(x))
    made = relay_to_tir(mod, {"main": given})
    assert "T.exp" in str(made)
    assert "T.exp" in str(relay_to_tir(mod, {"other": given})["other"])


def test_rejects_what_is_no_function_of_relay() -> None:
    with pytest.raises(tvm.TVMError, match="main is a PrimFunc"):
        relay_to_tir(tvm.IRModule(), {"main": tir.PrimFunc([], tir.Evaluate(0))})
