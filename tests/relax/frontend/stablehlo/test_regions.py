"""Branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .running import f, jax, same

jnp, lax = jax.numpy, jax.lax

CASES: dict[str, tuple[Any, ...]] = {
    "cond": (lambda x, p: lax.cond(p[0] > 0, lambda a: a * 2, lambda a: a + 1, x), f(3), f(1)),
    "switch": (
        lambda x, j: lax.switch(j[0], [lambda a: a, lambda a: a * 2, lambda a: -a], x),
        f(3),
        np.array([7], "int32"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)


@pytest.mark.cpu
def test_functions_within_regions() -> None:
    def combined(x: Any) -> Any:
        def rule(a: Any, b: Any) -> Any:
            return jnp.log(jnp.exp(a) + jnp.exp(b)) * jnp.sign(jnp.sqrt(jnp.abs(a) + 1.0))

        return lax.reduce_window(x, -jnp.inf, rule, (2, 2), (1, 1), "VALID")

    same(combined, f(4, 5))
