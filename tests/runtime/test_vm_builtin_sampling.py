"""Choosing tokens."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.error import ShapeError
from tvm.ffi import get_global_func
from tvm.runtime import tensor

pytestmark = pytest.mark.pure
P = np.array([0.1, 0.5, 0.15, 0.25], "float32")


def _call(name: str, *args: object) -> object:
    return get_global_func(f"vm.builtin.{name}")(*args)


def test_tokens_by_probability() -> None:
    row = tensor(P.reshape(1, 1, 4))
    # in order of probability: token 1 up to 0.5, token 3 up to 0.75, token 2 up to 0.9, token 0
    for sample, token in ((0.0, 1), (0.49, 1), (0.6, 3), (0.8, 2), (0.95, 0), (0.999, 0)):
        assert _call("sample_top_p_from_prob", row, 1.0, sample) == token
    assert _call("sample_top_p_from_prob", row, 0.7, 0.99) == 3
    assert _call("sample_top_p_from_prob", row, 0.0, 0.99) == 1
    # a token that has the sample's share of `top_p` alone is taken, whatever the kept ones have
    assert _call("sample_top_p_from_prob", row, 0.6, 0.8) == 1
    assert _call("sample_top_p_from_prob", row, 0.6, 0.9) == 3
    with pytest.raises(ShapeError, match="one row"):
        _call("sample_top_p_from_prob", tensor(np.stack([P, P])), 1.0, 0.5)


def test_tokens_by_logits() -> None:
    row = tensor(np.log(P).reshape(1, 1, 4))
    assert _call("sample_top_p_from_logits", row, 1.0, 1.0, 0.6) == 3
    assert _call("sample_top_p_from_logits", row, 0.0, 1.0, 0.99) == 1
    # a high temperature makes all tokens alike
    assert _call("sample_top_p_from_logits", row, 1000.0, 1.0, 0.9) == 0


def test_a_token_for_each_row() -> None:
    rows = tensor(np.stack([P, P, P]))
    found = _call("multinomial_from_uniform", rows, tensor(np.array([[0.05], [0.3], [0.99]])))
    assert found.numpy().tolist() == [[0], [1], [3]]  # type: ignore[attr-defined]
    assert found.dtype == "int64"  # type: ignore[attr-defined]
    with pytest.raises(ShapeError, match="batch, vocabulary"):
        _call("multinomial_from_uniform", rows, tensor(np.zeros((2, 1))))


def test_logits_become_probabilities() -> None:
    logits = tensor(np.log(np.stack([P, P])).reshape(2, 1, 4))
    _call("apply_softmax_with_temperature", logits, 1.0)
    np.testing.assert_allclose(logits.numpy().reshape(2, 4), [P, P], rtol=1e-5)
    _call("apply_softmax_with_temperature", logits, 0.0)
    assert logits.numpy().reshape(2, 4).tolist() == [[0, 1, 0, 0]] * 2


def test_penalties() -> None:
    logits = tensor(np.array([[2.0, -2.0, 4.0]], "float32"))
    _call("apply_repetition_penalty", logits, tensor(np.array([0, 1], "int32")), 2.0)
    assert logits.numpy().tolist() == [[1, -4, 4]]
    ids, times = tensor(np.array([2, 0], "int32")), tensor(np.array([3, 1], "int32"))
    _call("apply_presence_and_frequency_penalty", logits, ids, times, 0.5, 1.0)
    np.testing.assert_allclose(logits.numpy(), [[-0.5, -4, 0.5]])
