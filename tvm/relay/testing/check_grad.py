"""Gradients of functions against differences of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.module import IRModule
from tvm.relay.expr import Var
from tvm.relay.function import Function
from tvm.relay.transform import InferType, gradient
from tvm.runtime import Device, cpu
from tvm.target import Target


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that tests run on, with their devices."""
    return [("llvm", cpu(0))]


def check_grad(
    func: Function,
    inputs: Sequence[Any] | None = None,
    test_inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Sequence[tuple[Any, Any]] | None = None,
    executor_kind: str = "debug",
) -> None:
    """Raise AssertionError where a gradient is not the slope of the function.

    `inputs` are values of the parameters (made up if absent); the slopes along `test_inputs` (all
    of them if absent) are compared. Values should be float64: differences are small.
    """
    from tvm.relay.build_module import create_executor

    typed: Any = InferType()(IRModule.from_expr(func))["main"]
    backward: Any = InferType()(IRModule.from_expr(gradient(func, mode=mode)))["main"]
    given = [_random(p, scale, mean) for p in typed.params] if inputs is None else list(inputs)
    tested = given if test_inputs is None else list(test_inputs)
    for target, device in target_devices or enabled_targets():
        target = target if isinstance(target, Target) else Target(target)

        def run(function: Any, values: Sequence[Any], t: Any = target, d: Any = device) -> Any:
            made = IRModule.from_expr(function)
            return create_executor(executor_kind, made, d, t).evaluate()(*values)

        _, grads = run(backward, given)
        for x, grad in zip(given, grads):
            if not any(x is other for other in tested):
                continue
            slopes = _slopes(lambda vs: _total(run(typed, vs)), given, x, eps)
            np.testing.assert_allclose(grad.numpy(), slopes, atol=atol, rtol=rtol)


def _random(param: Var, scale: float | None, mean: float) -> Any:
    found: Any = param.checked_type
    size = float(scale) if scale is not None else 10.0
    values = (np.random.rand(*found.concrete_shape) - 0.5) * size + mean
    return values.astype(str(found.dtype))


def _total(value: Any) -> float:
    return float(np.sum(value.numpy().astype("float64")))


def _slopes(f: Any, values: Sequence[Any], x: Any, eps: float) -> Any:
    """How much `f` grows along each element of `x`, from differences on both sides."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for step in (eps / 2, -eps / 2):
            moved = x.copy()
            moved[at] += step
            ends.append(f([moved if v is x else v for v in values]))
        found[at] = (ends[0] - ends[1]) / eps
    return found
