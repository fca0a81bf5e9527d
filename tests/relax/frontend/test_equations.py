"""Linear equations by triangular factors, against numpy, at any size and in any order of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.relax.frontend import equations

pytestmark = pytest.mark.cpu
B, N, M = (tir.Var(name, "int64") for name in "bnm")
RNG = np.random.default_rng(2)


def compiled(make: Callable[..., Any], *shapes: Any, dtype: str = "float64") -> Any:
    """A function of tensors; `make` gives an expression."""
    bb = relax.BlockBuilder()
    given = [relax.Var(f"x{i}", relax.TensorStructInfo(s, dtype)) for i, s in enumerate(shapes)]
    with bb.function("main", given):
        bb.emit_func_output(bb.emit(make(bb, *given)))
    main = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())["main"]
    return lambda *args: main(*args).numpy()


def test_determinants_and_inverses_of_any_size() -> None:
    determinant = compiled(equations.determinant, (B, N, N))
    inverse = compiled(equations.inverse, (B, N, N))
    for batch, size in ((3, 4), (2, 1), (1, 30), (0, 3)):
        a = RNG.standard_normal((batch, size, size))
        np.testing.assert_allclose(determinant(a), np.linalg.det(a), rtol=1e-9)
        np.testing.assert_allclose(inverse(a), np.linalg.inv(a), rtol=1e-6, atol=1e-9)
    swapped = np.eye(3)[[2, 0, 1]][None]  # zeros on the diagonal, an even number of swaps
    np.testing.assert_array_equal(determinant(swapped), [1])
    np.testing.assert_array_equal(determinant(-np.eye(3)[::-1][None]), [1])
    np.testing.assert_array_equal(determinant(np.ones((1, 3, 3))), [0])
    np.testing.assert_array_equal(inverse(swapped)[0], swapped[0].T)


def test_equations_of_any_size() -> None:
    def solve(bb: Any, a: Any, right: Any) -> Any:
        lu, rows, _ = equations.factored(bb, a)
        return bb.emit_te(equations.solutions, lu, rows, right)

    run = compiled(solve, (B, N, N), (B, N, M))
    for batch, size, columns in ((2, 5, 3), (1, 1, 1), (3, 12, 20)):
        a, right = RNG.standard_normal((batch, size, size)), RNG.random((batch, size, columns))
        np.testing.assert_allclose(run(a, right), np.linalg.solve(a, right), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles(upper: bool, unit: bool) -> None:
    def solve(bb: Any, a: Any, right: Any) -> Any:
        return bb.emit_te(equations.triangular_solutions, a, right, upper=upper, unit=unit)

    a, right = RNG.random((2, 5, 5)) + np.eye(5), RNG.random((2, 5, 3))
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        triangle = triangle - triangle * np.eye(5) + np.eye(5)
    wanted = np.linalg.solve(triangle, right)
    np.testing.assert_allclose(compiled(solve, (B, N, N), (B, N, M))(a, right), wanted, rtol=1e-9)


def test_cholesky() -> None:
    run = compiled(lambda bb, a: bb.emit_te(equations.cholesky, a), (B, N, N))
    for size in (1, 4, 17):
        a = RNG.standard_normal((2, size, size))
        definite = a @ a.transpose(0, 2, 1) + np.eye(size)
        np.testing.assert_allclose(run(definite), np.linalg.cholesky(definite), rtol=1e-9)
    assert np.isnan(run(-np.eye(3)[None])).any()
