"""Cholesky's factors and triangular equations, from text (JAX calls LAPACK on CPUs)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend.stablehlo import from_stablehlo

pytest.importorskip("jax")
RANDOM = np.random.default_rng(3)


def _run(text: str, *arrays: Any) -> Any:
    vm = relax.VirtualMachine(tvm.compile(from_stablehlo(text), "llvm"), tvm.cpu())
    return vm["main"](*map(tvm.runtime.tensor, arrays)).numpy()


@pytest.mark.cpu
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower: bool) -> None:
    half = RANDOM.standard_normal((2, 4, 4)).astype("float32")
    a = half @ half.swapaxes(1, 2) + np.eye(4, dtype="float32")
    text = f"""func.func public @main(%a: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {{
      %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : tensor<2x4x4xf32>
      return %0 : tensor<2x4x4xf32>
    }}"""
    low = np.linalg.cholesky(a)
    wanted = low if lower else low.swapaxes(1, 2)
    np.testing.assert_allclose(_run(text, a), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.cpu
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("turned", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solve(left: bool, lower: bool, turned: str, unit: bool) -> None:
    a = RANDOM.standard_normal((3, 3)) + 3 * np.eye(3)
    b = RANDOM.standard_normal((3, 2) if left else (2, 3))
    rows, columns = b.shape
    text = f"""func.func public @main(%a: tensor<3x3xf64>, %b: tensor<{rows}x{columns}xf64>)
        -> tensor<{rows}x{columns}xf64> {{
      %0 = "stablehlo.triangular_solve"(%a, %b) {{left_side = {str(left).lower()},
        lower = {str(lower).lower()}, unit_diagonal = {str(unit).lower()},
        transpose_a = #stablehlo<transpose {turned}>}}
        : (tensor<3x3xf64>, tensor<{rows}x{columns}xf64>) -> tensor<{rows}x{columns}xf64>
      return %0 : tensor<{rows}x{columns}xf64>
    }}"""
    t = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(t, 1)
    t = t.T if turned == "TRANSPOSE" else t
    x = _run(text, a, b)
    np.testing.assert_allclose(t @ x if left else x @ t, b, rtol=1e-8, atol=1e-8)
