"""Operators that move elements."""

from __future__ import annotations

from typing import Any

import pytest

from .running import f, jax, same, text

jnp, lax = jax.numpy, jax.lax

CASES: dict[str, tuple[Any, ...]] = {
    "broadcast": (lambda a, b: a[:, None] + b, f(3), f(4)),
    "broadcast_to": (lambda a: jnp.broadcast_to(a, (2, 3, 4)), f(3, 1)),
    "reshape": (lambda a: a.reshape(4, -1).T, f(3, 4)),
    "concat": (lambda a, b: jnp.concatenate([a, b], 1), f(2, 3), f(2, 4)),
    "stack": (lambda a: jnp.stack([a, a + 1], -1), f(2, 3)),
    "slice": (lambda a: a[1:, ::2, -1], f(3, 5, 2)),
    "flip": (lambda a: jnp.flip(a, (0, 1)), f(3, 4)),
    "pad": (lambda a: jnp.pad(a, ((1, 2), (0, 3)), constant_values=2.0), f(3, 4)),
    "lax.pad": (lambda a: lax.pad(a, 1.5, ((1, -1, 2), (-1, 2, 0))), f(4, 5)),
    "iota": (lambda a: a + jnp.arange(4) + lax.broadcasted_iota(jnp.float32, (3, 4), 0), f(3, 4)),
    "tuple nothing": (lambda x: (x,), f(3)),
    "cholesky-free det": (lambda x: jnp.trace(x), f(3, 3)),
    "linspace": (lambda x: x + jnp.linspace(0, 1, 5), f(5)),
    "einsum2": (lambda a: jnp.einsum("ii->i", a), f(3, 3)),
    "roll": (lambda a: jnp.roll(a, 2, 0), f(5, 3)),
    "zero size": (lambda x: jnp.concatenate([x, x[:0]]), f(3, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)


def test_axes_in_front_are_broadcast() -> None:
    """A row becomes a matrix of one row; where axes stand behind, the shape is opened first."""
    row, column = (text(lambda a, b, axis=axis: b + jnp.expand_dims(a, axis), f(3), f(3, 3))
                   for axis in (0, 1))  # fmt: skip
    assert "R.broadcast_to(arg0, R.shape([1, 3]))" in row
    assert "reshape" not in row
    assert "R.reshape(arg0, R.shape([3, 1]))" in column
