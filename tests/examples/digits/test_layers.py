"""The hand-derived gradients of the digits example against central differences, in float64."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "digits"
STEP = 1e-6


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"digits_{name}", EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layers = _load("layers")
RNG = np.random.default_rng(7)

CASES = {
    "conv": (lambda: layers.Conv3x3(2, 3, RNG), (2, 3, 4, 6)),
    "batch_norm": (lambda: layers.BatchNorm(3), (3, 2, 4, 2)),
    "relu": (lambda: layers.Relu(), (2, 3, 4, 4)),
    "max_pool": (lambda: layers.MaxPool2x2(), (2, 3, 4, 6)),
    "average": (lambda: layers.GlobalAveragePool(), (4, 3, 2, 2)),
    "dense": (lambda: layers.Dense(5, 4, RNG), (3, 5)),
    "residual": (
        lambda: layers.Residual({"c": layers.Conv3x3(2, 2, RNG), "b": layers.BatchNorm(2)}),
        (2, 3, 4, 4),
    ),
}


def _numeric(loss, values: np.ndarray) -> np.ndarray:
    slopes = np.empty_like(values)
    for index in np.ndindex(values.shape):
        kept = values[index]
        values[index] = kept + STEP
        above = loss()
        values[index] = kept - STEP
        slopes[index] = (above - loss()) / (2 * STEP)
        values[index] = kept
    return slopes


def _leaves(layer):
    return layer.body.values() if isinstance(layer, layers.Residual) else [layer]


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_that_of_the_loss(name: str) -> None:
    make, shape = CASES[name]
    layer = make()
    for leaf in _leaves(layer):
        leaf.params = {
            k: v.astype(np.float64) + 0.1 * RNG.normal(size=v.shape) for k, v in leaf.params.items()
        }
    x = RNG.normal(size=shape)
    weights = RNG.normal(size=layer.forward(x, True).shape)

    def loss() -> float:
        return float((weights * layer.forward(x, True)).sum())

    loss()
    by_x = layer.backward(weights)
    np.testing.assert_allclose(by_x, _numeric(loss, x), rtol=1e-4, atol=1e-6)
    for leaf in _leaves(layer):
        for key, param in leaf.params.items():
            by_param = _numeric(loss, param)
            np.testing.assert_allclose(leaf.grads[key], by_param, rtol=1e-4, atol=1e-6)


def test_cross_entropy_gradient() -> None:
    scores = RNG.normal(size=(4, 10))
    labels = np.array([3, 0, 9, 3])
    _, grad = layers.cross_entropy(scores, labels)
    by_scores = _numeric(lambda: layers.cross_entropy(scores, labels)[0], scores)
    np.testing.assert_allclose(grad, by_scores, atol=1e-7)


def test_batch_norm_uses_the_running_moments_after_training() -> None:
    norm = layers.BatchNorm(2)
    x = RNG.normal(3.0, 2.0, size=(2, 50, 4, 4)).astype(np.float32)
    for _ in range(80):
        norm.forward(x, True)
    np.testing.assert_allclose(norm.forward(x, False), norm.forward(x, True), atol=2e-2)
    assert abs(norm.running_mean - x.mean(axis=(1, 2, 3))).max() < 1e-2
