"""Special functions: against numbers of tables, and recurrences between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm import relax
from tvm.relax.frontend import special
from tvm.relax.interp import Interpreter
from tvm.relax.struct_info import TensorStructInfo


def _run(rule: Callable[..., Any], *arrays: Any) -> Any:
    bb = relax.BlockBuilder()
    given = [
        relax.Var(f"x{i}", TensorStructInfo(list(x.shape), str(x.dtype)))
        for i, x in enumerate(arrays)
    ]
    with bb.function("main", given):
        with bb.dataflow():
            out = bb.emit_output(bb.normalize(rule(bb, *given)))
        bb.emit_func_output(out)
    return Interpreter(bb.get()).run("main", *arrays)


def test_error_function_inverse() -> None:
    y = np.array([-0.999, -0.5, 0.0, 1e-8, 0.3, 0.9])
    found = _run(special.erfinv, y)
    np.testing.assert_allclose([math.erf(x) for x in found], y, rtol=1e-12)


def test_gamma_functions() -> None:
    x = np.array([-3.7, -0.5, 1e-3, 0.5, 1.0, 7.9, 8.1, 100.0])
    np.testing.assert_allclose(_run(special.lgamma, x), [math.lgamma(v) for v in x], atol=1e-12)
    step = _run(special.digamma, x + 1) - _run(special.digamma, x)
    np.testing.assert_allclose(step, 1 / x, rtol=1e-8, atol=1e-10)


def test_zeta_and_polygamma() -> None:
    one = np.ones(2)
    found = _run(special.zeta, np.array([2.0, 4.0]), one)
    np.testing.assert_allclose(found, [math.pi**2 / 6, math.pi**4 / 90], rtol=1e-13)
    x = np.array([-2.5, 0.25, 3.0, 40.0])
    for n in (1, 2, 3):
        step = _run(lambda bb, v, n=n: special.polygamma(bb, n, v), x) - _run(
            lambda bb, v, n=n: special.polygamma(bb, n, v), x + 1
        )
        wanted = -((-1.0) ** n) * math.factorial(n) / x ** (n + 1)
        np.testing.assert_allclose(step, wanted, rtol=1e-8, atol=1e-12)


def test_bessel_functions() -> None:
    x = np.array([0.0, 0.5, 2.0, -2.0, 19.99, 20.01])
    for order, scaled in ((0, False), (0, True), (1, False), (1, True)):
        found = _run(lambda bb, v, o=order, s=scaled: special.bessel_i(bb, v, o, scaled=s), x)
        angles = (np.arange(400) + 0.5) * np.pi / 400  # the integral that defines them
        waves = np.exp(x[:, None] * np.cos(angles)) * np.cos(order * angles)
        wanted = waves.mean(1) * (np.exp(-np.abs(x)) if scaled else 1)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
