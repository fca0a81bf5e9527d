"""What JAX calls LAPACK for on CPUs, imported and compiled, against JAX's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm.error import OpNotImplemented
from tvm.relax.frontend.stablehlo import from_stablehlo

from .running import f, jax, same

pytestmark = pytest.mark.cpu
jnp, linalg = jax.numpy, jax.scipy.linalg


def _positive(*shape: int) -> np.ndarray:
    half = f(*shape)
    made: np.ndarray = half @ half.swapaxes(-1, -2) + 2 * np.eye(shape[-1], dtype="float32")
    return made


def _rebuilt(factors: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """Singular values, and the matrix: vectors may have either sign."""
    u, s, v = factors
    count = s.shape[-1]
    return s, (u[..., :count] * s[..., None, :]) @ v[..., :count, :]


def _rebuilt_symmetric(a: Any) -> tuple[Any, Any]:
    values, vectors = jnp.linalg.eigh(a)
    return values, (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 5, 3)])
@pytest.mark.parametrize(
    "function",
    [
        linalg.lu_factor,
        jnp.linalg.qr,
        lambda a: jnp.linalg.qr(a, "complete"),
        lambda a: _rebuilt(jnp.linalg.svd(a, full_matrices=True)),
        lambda a: _rebuilt(jnp.linalg.svd(a, full_matrices=False)),
        lambda a: jnp.linalg.svd(a, compute_uv=False),
        jnp.linalg.pinv,
    ],
)
def test_matrices(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    same(function, f(*shape))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_permutations(shape: tuple[int, ...]) -> None:
    same(linalg.lu, f(*shape))


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
@pytest.mark.parametrize(
    "function",
    [
        jnp.linalg.cholesky,
        lambda a: jnp.linalg.cholesky(a, upper=True),
        _rebuilt_symmetric,
        lambda a: jnp.linalg.eigvalsh(a, "U"),
        jnp.linalg.inv,
        jnp.linalg.det,
        lambda a: tuple(jnp.linalg.slogdet(a)),
    ],
)
def test_square_matrices(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    same(function, _positive(*shape))


@pytest.mark.parametrize("options", [
    {"lower": True}, {"trans": 1}, {"lower": True, "trans": 1, "unit_diagonal": True},
])  # fmt: skip
def test_equations(options: dict[str, Any]) -> None:
    a, b = _positive(4, 4), f(4, 2)
    same(lambda a, b: linalg.solve_triangular(a, b, **options), a, b)
    same(lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), a, b)
    same(jnp.linalg.solve, a, b)
    same(lambda a, b: jnp.linalg.lstsq(a, b)[0], f(4, 3), b)


def test_a_matrix_without_a_factor_is_nan() -> None:
    same(jnp.linalg.cholesky, -np.eye(3, dtype="float32"))


def test_other_calls_are_named() -> None:
    lowered = jax.jit(jnp.linalg.eigvals).lower(f(3, 3)).compiler_ir(dialect="stablehlo")
    with pytest.raises(OpNotImplemented, match="custom_call @lapack_sgeev_ffi"):
        from_stablehlo(lowered)


def test_errors_far_out() -> None:
    x = np.array([-9.0, -3.0, -0.5, 0.0, 1.9, 2.1, 5.0, 9.0, 14.0], "float32")
    same(lambda x: jnp.log(jax.lax.erfc(x)), x[:-2])
    same(jax.scipy.stats.norm.logcdf, x)
    same(jax.scipy.stats.norm.logsf, x)
