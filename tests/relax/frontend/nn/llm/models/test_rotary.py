"""Frequencies of each rule of scaling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.serve.small_models import COMMON
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models.config import config_of
from tvm.relax.frontend.nn.llm.models.rotary import frequencies

pytestmark = pytest.mark.pure
PLAIN = 1e4 ** -(np.arange(4) / 4)


def _found(**scaling: Any) -> tuple[Any, float]:
    return frequencies(config_of({**COMMON, "model_type": "llama", "rope_scaling": scaling}))


def test_plain_and_linear() -> None:
    np.testing.assert_allclose(_found(rope_type="default")[0], PLAIN, rtol=1e-6)
    np.testing.assert_allclose(_found(rope_type="linear", factor=4.0)[0], PLAIN / 4, rtol=1e-6)
    np.testing.assert_allclose(
        _found(rope_type="divisors", divisors=[1, 2, 3, 4])[0], PLAIN / [1, 2, 3, 4], rtol=1e-6
    )


def test_llama3_stretches_long_waves_only() -> None:
    found, grown = _found(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                          high_freq_factor=4.0, original_max_position_embeddings=64)  # fmt: skip
    assert grown == 1.0
    waves = 2 * math.pi / PLAIN
    assert (waves[0] < 16)
    assert found[0] == np.float32(PLAIN[0])
    np.testing.assert_allclose(found[2:], PLAIN[2:] / 8, rtol=1e-6)  # longer than 64
    share = (64 / waves[1] - 1) / 3
    np.testing.assert_allclose(found[1], PLAIN[1] * (max(share, 0) * 7 + 1) / 8, rtol=1e-6)


def test_yarn_slows_what_turns_rarely() -> None:
    found, grown = _found(rope_type="yarn", factor=4.0, original_max_position_embeddings=64)
    assert grown == pytest.approx(0.1 * math.log(4) + 1)
    np.testing.assert_allclose(found[0], PLAIN[0], rtol=1e-6)
    np.testing.assert_allclose(found[-1], PLAIN[-1] / 4, rtol=1e-6)
    assert _found(rope_type="yarn", factor=4.0, attention_factor=1.5)[1] == 1.5


def test_longrope_divides_each_dimension() -> None:
    lists = {"long_factor": [1.0, 2.0, 3.0, 4.0], "short_factor": [1.0, 1.1, 1.2, 1.3]}
    found, grown = _found(rope_type="longrope", original_max_position_embeddings=64, **lists)
    np.testing.assert_allclose(found, PLAIN / [1, 2, 3, 4], rtol=1e-6)
    assert grown == pytest.approx(math.sqrt(1 + math.log(4) / math.log(64)))
    found, grown = _found(rope_type="longrope", original_max_position_embeddings=256, **lists)
    np.testing.assert_allclose(found, PLAIN / [1, 1.1, 1.2, 1.3], rtol=1e-6)
    assert grown == 1.0


def test_unknown_rules_are_named() -> None:
    with pytest.raises(TVMError, match=r"scaled by 'su'\n.*\n  legal: default, divisors, linear"):
        _found(rope_type="su")
