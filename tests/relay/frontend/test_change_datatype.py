"""A network in a data type of users: its text, and its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, tir
from tvm.relay.frontend.change_datatype import ChangeDatatype
from tvm.support import dtype
from tvm.target import datatype

pytestmark = pytest.mark.cpu
HELD = "custom[heldfloat]32"
PLAIN = {"tir.disable_vectorize": True}  # rules of users are of single elements


@pytest.fixture(scope="module", autouse=True)
def float_in_an_integer() -> Iterator[None]:
    """A type `heldfloat`: the bits of a float32."""
    patch = pytest.MonkeyPatch()
    patch.setattr(dtype, "_custom_codes", {})
    patch.setattr(datatype, "_LOWER", {})
    datatype.register("heldfloat", 161)

    def held(value: Any) -> Any:
        return tir.reinterpret("uint32", value)

    def real(value: Any) -> Any:
        return tir.reinterpret("float32", value)

    rules = {
        "Add": lambda op: held(real(op.a) + real(op.b)),
        "Mul": lambda op: held(real(op.a) * real(op.b)),
        "Div": lambda op: held(real(op.a) / real(op.b)),
        "Max": lambda op: held(tir.max(real(op.a), real(op.b))),
        "FloatImm": lambda op: held(tir.FloatImm("float32", op.value)),
    }
    for name, rule in rules.items():
        datatype.register_op(rule, name, "llvm", "heldfloat")
    datatype.register_op(lambda op: held(op.value), "Cast", "llvm", "float", "heldfloat")
    datatype.register_op(lambda op: real(op.value), "Cast", "llvm", "heldfloat", "float")
    datatype.register_op(datatype.lower_ite, "Call", "llvm", "heldfloat",
                         intrinsic_name="tir.if_then_else")  # fmt: skip
    yield
    patch.undo()


def network() -> Any:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    y = relay.nn.relu(relay.divide(relay.nn.dense(x, w), relay.const(0.5)))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], y)))


def converted(value: Any, to: str) -> Any:
    x = relay.var("x", shape=value.shape, dtype=str(value.dtype))
    with tvm.transform.PassContext(config=PLAIN):
        return relay.create_executor("vm").evaluate(relay.Function([x], x.astype(to)))(value)


def test_types_of_parameters_constants_and_options_change() -> None:
    after = relay.transform.InferType()(ChangeDatatype("float32", HELD)(network()))
    main = after["main"]
    assert [str(param.checked_type.dtype) for param in main.params] == [HELD, HELD]
    assert str(main.ret_type.dtype) == HELD
    assert f'cast(0.5f /* ty=float32 */, dtype="{HELD}")' in str(main)
    made = relay.zeros((2,), "float32") + relay.var("i", shape=(2,), dtype="int8").astype("float32")
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(made), made))
    half = relay.transform.InferType()(ChangeDatatype("float32", "float16")(mod))["main"]
    assert str(half.ret_type.dtype) == "float16"
    assert str(half.params[0].checked_type.dtype) == "int8"


def test_the_network_computes_in_the_type() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(-1, 1, shape).astype("float32") for shape in ((2, 4), (3, 4)))
    after = relay.transform.InferType()(ChangeDatatype("float32", HELD)(network()))
    with tvm.transform.PassContext(opt_level=3, config=PLAIN):
        run = relay.create_executor("graph", after).evaluate()
        found = run(converted(x, HELD), converted(w, HELD))
    assert str(found.dtype) == HELD
    wanted = np.maximum(x @ w.T / 0.5, 0)
    np.testing.assert_allclose(converted(found, "float32").numpy(), wanted, atol=1e-6)
