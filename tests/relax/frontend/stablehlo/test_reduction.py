"""Reductions over axes and windows; sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .running import f, i, jax, same

jnp, lax = jax.numpy, jax.lax

CASES: dict[str, tuple[Any, ...]] = {
    "int max": (lambda a: jnp.max(a, 0), i(3, 4, lo=-9)),
    "sum init": (lambda a: lax.reduce(a, np.float32(2.0), lax.add, (0,)), f(3, 4)),
    "median": (jnp.median, f(7)),
    "logsumexp": (lambda a: jax.nn.logsumexp(a, 1), f(3, 4)),
    "maxpool": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
        f(1, 5, 5, 3),
    ),
    "avgpool": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "VALID") / 9,
        f(1, 5, 5, 3),
    ),
    "maxpool of channels first": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME"),
        f(1, 2, 6, 5),
    ),
    "avgpool with a margin": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"),
        f(1, 5, 6, 3),
    ),
    "pool of rows": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 1), (1, 2, 1), "VALID"),
        f(2, 7, 3),
    ),
    "pool of boxes": (
        lambda x: lax.reduce_window(
            x, 0.0, lax.add, (1, 2, 2, 2, 1), (1, 1, 2, 1, 1), "VALID"
        ),
        f(1, 3, 4, 5, 2),
    ),
    "window over channels": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 2), (1, 1, 1, 1), "VALID"),
        f(1, 3, 4, 5),
    ),
    "running sum of a picture": (lambda x: jnp.cumsum(x, 1), f(1, 6, 4, 3)),
    "dilated window": (
        lambda x: lax.reduce_window(
            x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID", window_dilation=(2, 1)
        ),
        f(5, 5),
    ),
    "cumsum": (lambda x: jnp.cumsum(x, 1), f(3, 9)),
    "cummax": (lambda x: lax.cummax(x, 1), f(3, 9)),
    "sort": (lambda x: jnp.sort(x, 0), f(5, 3)),
    "sort down": (lambda x: -jnp.sort(-x), f(5)),
    "argsort": (lambda x: jnp.argsort(x, 1), f(3, 5)),
    "topk": (lambda x: lax.top_k(x, 2), f(3, 5)),
    "sort pair": (lambda x, y: lax.sort((x, y), num_keys=1), f(6), i(6)),
    "percentile": (lambda a: jnp.percentile(a, 30.0), f(9)),
    "batchnorm": (lambda x: jax.nn.standardize(x, 0), f(5, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)


OVER_AXES = ["sum", "prod", "max", "min", "mean", "var", "std", "argmax", "argmin"]


@pytest.mark.parametrize("axis", [1, None])
@pytest.mark.parametrize("name", OVER_AXES)
def test_over_axes(name: str, axis: int | None) -> None:
    same(lambda a: getattr(jnp, name)(a, axis), f(3, 4))


@pytest.mark.parametrize("axis", [1, None])
@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_values(name: str, axis: int | None) -> None:
    same(lambda a: getattr(jnp, name)(a > 0.3, axis), f(3, 4))


@pytest.mark.cpu
def test_sorts_by_several_keys() -> None:
    first, second, third = (i(2, 9, lo=0, hi=3) for _ in range(3))
    for count in (2, 3):
        same(lambda a, b, c, n=count: jax.lax.sort((a, b, c), num_keys=n), first, second, third)
    same(lambda a, b, c: jax.numpy.lexsort((a, b, c)), first, second, third.astype("float32"))
    same(lambda a: jax.numpy.unique(a, axis=0, size=4), i(6, 2, hi=2))
