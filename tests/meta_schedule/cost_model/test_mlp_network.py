"""The network: sums of segments, derivatives, and training steps."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.mlp_network import Adam, SegmentSumMLP, StepLR

pytestmark = pytest.mark.pure

SIZES = np.array([2, 1, 3])


def rows(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)


def test_a_score_is_that_of_the_sum_of_rows() -> None:
    model = SegmentSumMLP(5, 8)
    scores = model.forward(SIZES, rows())
    assert scores.shape == (3,)
    alone = model.forward(np.array([3]), rows()[3:])
    np.testing.assert_allclose(alone, scores[2:], rtol=1e-5)
    swapped = rows()[[1, 0, 2, 5, 3, 4]]
    np.testing.assert_allclose(model.forward(SIZES, swapped), scores, rtol=1e-4, atol=1e-6)


def test_sigmoid_and_more_outputs() -> None:
    scores = SegmentSumMLP(5, 8, use_sigmoid=True).forward(SIZES, rows() * 9)
    assert ((scores > 0) & (scores < 1)).all()
    assert SegmentSumMLP(5, 8, output_dim=4).forward(SIZES, rows()).shape == (3, 4)


@pytest.mark.parametrize(("norm", "sigmoid"), [(False, False), (True, False), (True, True)])
def test_derivatives(norm: bool, sigmoid: bool) -> None:
    model = SegmentSumMLP(5, 8, use_norm=norm, use_sigmoid=sigmoid)
    wanted = np.array([1.0, -2.0, 0.5], np.float32)
    for layer in model.layers().values():
        layer.params = {name: value.astype(np.float64) for name, value in layer.params.items()}
    model.forward(SIZES, rows())
    model.backward(wanted)
    found = {name: dict(layer.grads) for name, layer in model.layers().items()}
    for name, layer in model.layers().items():
        for part, value in layer.params.items():
            step = np.zeros_like(value)
            step.flat[0] = 1e-3
            layer.params[part] = value + step
            above = wanted @ model.forward(SIZES, rows())
            layer.params[part] = value - step
            below = wanted @ model.forward(SIZES, rows())
            layer.params[part] = value
            slope = (above - below) / 2e-3
            assert found[name][part].flat[0] == pytest.approx(slope, abs=2e-2), (name, part)


def test_steps_go_down() -> None:
    model = SegmentSumMLP(5, 16, use_norm=True)
    optimizer = Adam(model, 1e-2, weight_decay=1e-6)
    wanted = np.array([1.0, -1.0, 0.5], np.float32)
    errors = []
    for _ in range(60):
        wrong = model.train().forward(SIZES, rows()) - wanted
        errors.append(float((wrong**2).sum()))
        model.backward(2 * wrong)
        optimizer.step(grad_clip_norm=1.0)
    assert errors[-1] < 0.05 * errors[0]


def test_norms_learn_only_in_training() -> None:
    model = SegmentSumMLP(5, 8, use_norm=True).eval()
    before = {name: value.copy() for name, value in model.arrays().items()}
    first = model.forward(SIZES, rows())
    np.testing.assert_array_equal(model.forward(SIZES, rows()), first)
    model.train().forward(SIZES, rows())
    changed = [n for n, v in model.arrays().items() if not np.array_equal(v, before[n])]
    assert changed == ["norm.mean", "norm.var"]


def test_the_rate_falls_in_steps() -> None:
    optimizer = Adam(SegmentSumMLP(5, 8), 1.0)
    scheduler = StepLR(optimizer, 2, 0.5)
    rates = []
    for _ in range(5):
        scheduler.step()
        rates.append(optimizer.lr)
    assert rates == [1.0, 0.5, 0.5, 0.25, 0.25]


def test_arrays_round_trip() -> None:
    model, other = SegmentSumMLP(5, 8, use_norm=True), SegmentSumMLP(5, 8, use_norm=True, seed=1)
    model.train().forward(SIZES, rows())
    other.set_arrays(model.arrays())
    np.testing.assert_array_equal(other.eval()(SIZES, rows()), model.eval()(SIZES, rows()))
    with pytest.raises(ValueError, match=r"has encoder0.weight of shape \(6, 8\); found \(5, 8\)"):
        SegmentSumMLP(6, 8, use_norm=True).set_arrays(model.arrays())
