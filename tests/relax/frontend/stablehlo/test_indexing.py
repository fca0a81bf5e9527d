"""Slices, gathers and scatters at computed places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .running import f, i, jax, same

jnp, lax = jax.numpy, jax.lax

CASES: dict[str, tuple[Any, ...]] = {
    "take": (lambda x, j: jnp.take(x, j, axis=1), f(3, 6), i(4)),
    "take 2d": (lambda x, j: x[j], f(6, 3), i(2, 4)),
    "index two": (lambda x, j, k: x[j, :, k], f(5, 3, 5), i(4), i(4)),
    "take_along": (lambda x, j: jnp.take_along_axis(x, j, 1), f(3, 5), i(3, 2)),
    "out of bounds": (lambda x, j: x.at[j].get(mode="clip"), f(4, 3), i(5, lo=-9, hi=9)),
    "set": (lambda x, j: x.at[j].set(1.0), f(5, 3), np.array([1, 3], "int32")),
    "add dup": (lambda x, j, u: x.at[j].add(u), f(5, 3), i(6), f(6, 3)),
    "add two": (lambda x, j, k, u: x.at[j, :, k].add(u), f(5, 3, 5), i(4), i(4), f(4, 3)),
    "max": (lambda x, j, u: x.at[:, j].max(u), f(5, 3), i(4, hi=3), f(5, 4)),
    "drop": (
        lambda x, j, u: x.at[j].set(u, mode="drop"),
        f(4, 3),
        np.array([1, 9, -7], "int32"),
        f(3, 3),
    ),
    "mul": (lambda x, j: x.at[j].multiply(3.0), f(5), i(3)),
    "bool set": (lambda x: (x > 0).at[1].set(True), f(5)),
    "bincount": (lambda j: jnp.bincount(j, length=6), i(9)),
    "segment": (lambda x, j: jax.ops.segment_sum(x, j, 4), f(6, 2), i(6, hi=4)),
    "dynamic_slice": (
        lambda x, j: lax.dynamic_slice(x, (j[0], j[1]), (2, 3)),
        f(5, 6),
        np.array([4, 1], "int32"),
    ),
    "dus": (
        lambda x, u, j: lax.dynamic_update_slice(x, u, (j[0], j[1])),
        f(5, 6),
        f(2, 3),
        np.array([-3, 5], "int32"),
    ),
    "vmap slice": (
        lambda x, j: jax.vmap(lambda a, k: lax.dynamic_slice(a, (k,), (2,)))(x, j),
        f(4, 6),
        i(4),
    ),
    "vmap gather": (lambda x, j: jax.vmap(lambda a, k: a[k])(x, j), f(4, 6), i(4, 3)),
    "vmap scatter": (
        lambda x, j, u: jax.vmap(lambda a, k, v: a.at[k].add(v))(x, j, u),
        f(4, 6),
        i(4, 3),
        f(4, 3),
    ),
    "unique argsort": (lambda a: jnp.searchsorted(a, jnp.array([0.1, 0.5])), np.sort(f(7))),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)
