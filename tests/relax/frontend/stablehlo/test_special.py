"""Special functions, and bits read as other types."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from .running import f, i, jax, same

jnp, lax = jax.numpy, jax.lax

CASES: Final[dict[str, tuple[Any, ...]]] = {
    "erf_inv": (lax.erf_inv, np.array([-1, -0.9, 0, 1e-3, 0.99, 1], "float32")),
    "lgamma": (lax.lgamma, np.array([-2.5, 0.1, 1, 2, 7.5, 100], "float32")),
    "digamma": (lax.digamma, np.array([-2.5, 0.1, 1, 2, 7.5, 100], "float32")),
    "bessel_i1e": (lax.bessel_i1e, np.array([-30, -1, 0, 0.5, 19, 1e4], "float32")),
    "zeta": (lax.zeta, f(5, lo=1.5, hi=4.0), f(5, lo=0.5, hi=9.0)),
    "polygamma": (lambda x: jax.scipy.special.polygamma(2, x), f(5, lo=0.5, hi=9.0)),
    "normal": (lambda x: x + jax.random.normal(jax.random.PRNGKey(3), (4,)), f(4)),
    "bits": (lambda x: lax.bitcast_convert_type(x, jnp.int32), f(3, 4)),
    "bits back": (lambda x: lax.bitcast_convert_type(x, jnp.float32), i(3, hi=2**30)),
    "bits in parts": (lambda x: lax.bitcast_convert_type(x, jnp.int8), f(3, 4)),
    "bits in halves": (lambda x: lax.bitcast_convert_type(x, jnp.uint16), i(3, lo=-9)),
    "bits joined": (
        lambda x: lax.bitcast_convert_type(x.astype(jnp.uint8), jnp.uint32), i(3, 4, hi=200),
    ),
    "top_k": (lambda x: tuple(lax.top_k(x, 3)), f(2, 7)),
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    same(*CASES[name])
