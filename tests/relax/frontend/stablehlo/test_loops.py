"""Loops: known and unknown counts, nested, with what stands around them."""

from __future__ import annotations

from typing import Any

import pytest

from .running import f, jax, same

jnp, lax = jax.numpy, jax.lax

CASES: dict[str, tuple[Any, ...]] = {
    "fori": (lambda x: lax.fori_loop(0, 5, lambda i, a: a * 1.5 + i, x), f(3)),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(3), x), f(6, 3)),
    "while": (
        lambda x: lax.while_loop(lambda a: a.sum() < 50.0, lambda a: a * 2, x),
        f(3, lo=1, hi=2),
    ),
    "map": (lambda x: lax.map(lambda a: a @ a, x), f(5, 3, 3)),
    "nested": (
        lambda x: lax.fori_loop(
            0, 3, lambda i, a: lax.fori_loop(0, i + 1, lambda j, b: b + x * j, a), x
        ),
        f(3),
    ),
    "long": (lambda x: lax.fori_loop(0, 300, lambda i, a: a * 0.99 + x, x), f(2)),
    "rnn": (
        lambda x, w: lax.scan(lambda h, a: ((h2 := jnp.tanh(a @ w + h)), h2), jnp.zeros((2, 4)), x),
        f(5, 2, 3),
        f(3, 4),
    ),
    "while cond": (
        lambda x: lax.while_loop(
            lambda s: s[1].sum() < 20.0, lambda s: (s[0] + 1, s[1] * x), (0, x)
        ),
        f(3, lo=1.2, hi=2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)
