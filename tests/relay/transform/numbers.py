"""A pass changes a program, and not what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import Interpreter
from tvm.relay.expr import Call
from tvm.relay.traverse import post_order

RNG = np.random.default_rng(5)


def module(body: Any, *params: Any) -> Any:
    """A module whose main is a function of the free variables, with types."""
    given = list(params) or relay.analysis.free_vars(body)
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(given, body)))


def random_inputs(mod: Any, low: int = -10, high: int = 10) -> list[Any]:
    """An array for each parameter."""
    made = []
    for param in mod["main"].params:
        found = param.checked_type
        if str(found.dtype).startswith("float"):
            made.append(RNG.uniform(-1, 1, found.concrete_shape).astype(str(found.dtype)))
        else:
            least = 0 if str(found.dtype).startswith("u") else low
            made.append(RNG.integers(least, high, found.concrete_shape).astype(str(found.dtype)))
    return made


def results(mod: Any, inputs: list[Any]) -> list[Any]:
    """What main gives, tensor by tensor; run step by step."""
    found = Interpreter(mod, tvm.cpu(), "llvm").evaluate()(*inputs)
    return [t.numpy() for t in (found if isinstance(found, list) else [found])]


def same_numbers(before: Any, after: Any, tolerance: float = 1e-4) -> None:
    """Both modules give the same numbers for random inputs."""
    inputs = random_inputs(before)
    for a, b in zip(results(before, inputs), results(after, inputs), strict=True):
        np.testing.assert_allclose(
            b.astype("float64"), a.astype("float64"), rtol=tolerance, atol=tolerance
        )


def ops(mod: Any) -> list[str]:
    """The names of the operators that main calls, in order."""
    found = [e.op for e in post_order(mod["main"].body) if isinstance(e, Call)]
    return [op.name for op in found if hasattr(op, "name")]


def equal(mod: Any, body: Any, *params: Any) -> None:
    """main is the function of `body`."""
    tvm.ir.assert_structural_equal(mod["main"], module(body, *params)["main"])
