"""Angles against the published formulas, and kernels that turn rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.runtime import attention_kernels as reference
from tvm import tir
from tvm.relax.frontend.nn.llm import position_embedding as rope
from tvm.tir import interp

pytestmark = pytest.mark.pure
DIM, THETA = 16, 1e4
LLAMA = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 64}  # fmt: skip


def angle(scaling: dict[str, Any], position: int, d: int) -> tuple[float, float]:
    """Cosine and sine by the rule that the scaling names."""
    s, at = tir.Var("s", "float32"), tir.Var("d", "int64")
    base = tir.Var("theta", "float32")
    cosine, sine, names = rope.switch_rope_freq_func(scaling)(s, at, DIM, base, "float32")
    found = []
    for value in (cosine, sine):
        for var, known in names.items():
            value = tir.Let(var, known, value)
        values = {s: float(position), at: d, base: THETA}
        found.append(float(interp.evaluate(value, values)))
    return found[0], found[1]


def pairs(frequencies: Any, neighbours: bool = False) -> list[float]:
    """The frequency of each dimension."""
    half = list(frequencies)
    return [half[d // 2 if neighbours else d % len(half)] for d in range(2 * len(half))]


def smoothed(frequency: float) -> float:
    """Llama 3: by the wave length, between those of the two factors linearly."""
    length = LLAMA["original_max_position_embeddings"]
    wave = 2 * math.pi / frequency
    if wave < length / LLAMA["high_freq_factor"]:
        return frequency
    if wave > length / LLAMA["low_freq_factor"]:
        return frequency / LLAMA["factor"]
    share = (length / wave - LLAMA["low_freq_factor"]) / (
        LLAMA["high_freq_factor"] - LLAMA["low_freq_factor"]
    )
    return (1 - share) * frequency / LLAMA["factor"] + share * frequency


OWN = THETA ** -(np.arange(DIM // 2) * 2 / DIM)


def yarn(fast: int, slow: int, factor: float, length: int) -> Any:
    def dimension(turns: int) -> float:
        return DIM * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(THETA))

    low, high = max(math.floor(dimension(fast)), 0), min(math.ceil(dimension(slow)), DIM - 1)
    ramp = np.clip((np.arange(DIM // 2) - low) / (high - low), 0, 1)
    return OWN / factor * ramp + OWN * (1 - ramp)


@pytest.mark.parametrize(
    ("scaling", "wanted"),
    [
        ({}, pairs(OWN)),
        ({"rope_type": "gptj"}, pairs(OWN, True)),
        ({"rope_type": "llama3", **LLAMA}, pairs(map(smoothed, OWN))),
        ({"rope_type": "llama4", **LLAMA}, pairs(map(smoothed, OWN), True)),
        (
            {"rope_type": "yarn", "factor": 4.0, "beta_fast": 8, "beta_slow": 1,
             "original_max_position_embeddings": 256},
            pairs(yarn(8, 1, 4.0, 256)),
        ),
    ],
)  # fmt: skip
def test_angles(scaling: dict[str, Any], wanted: list[float]) -> None:
    for position in (0, 3, 50):
        for d in range(DIM):
            found = angle(scaling, position, d)
            turn = position * wanted[d]
            np.testing.assert_allclose(found, (math.cos(turn), math.sin(turn)), atol=2e-5)


def test_long_texts_grow() -> None:
    scaling = {"rope_type": "longrope", "max_position_embeddings": 256,
               "original_max_position_embeddings": 64}  # fmt: skip
    grown = math.sqrt(1 + math.log(4) / math.log(64))
    np.testing.assert_allclose(
        angle(scaling, 2, 1), (grown * math.cos(2 * OWN[1]), grown * math.sin(2 * OWN[1])),
        rtol=1e-5,
    )  # fmt: skip


def test_a_range_of_dimensions_lies_within_the_row() -> None:
    assert rope.yarn_find_correction_range(32, 1, 128, 1e4, 4096) == (20, 46)
    assert rope.yarn_find_correction_dim(1, 128, 1e4, 4096) == pytest.approx(45.0, abs=0.1)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="Unsupported RoPE scaling type"):
        rope.switch_rope_freq_func({"rope_type": "spiral"})
    with pytest.raises(ValueError, match="no low_freq_factor"):
        rope.switch_rope_freq_func({"rope_type": "llama3", "factor": 8})


def split(func: tir.PrimFunc, rows: Any, positions: Any, heads: int, kv: int, last: Any) -> Any:
    outs = [np.zeros((len(rows), n, rows.shape[2]), "float32") for n in (heads, kv, kv)]
    interp.run(func, rows, np.int32(positions), *outs, last)
    return outs


def test_rows_are_split_and_turned() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 8, DIM)).astype("float32")
    func = rope.llama_rope_with_position_map(THETA, 0.5, DIM, 4, 2, "float32", {})
    at = np.array([4, 0, 9])
    q, k, v = split(func, rows, at, 4, 2, 1)
    np.testing.assert_allclose(q, reference.rope(rows[:, :4], at, THETA, 0.5), atol=1e-5)
    np.testing.assert_allclose(k, reference.rope(rows[:, 4:6], at, THETA, 0.5), atol=1e-5)
    assert (v == rows[:, 6:]).all()
    q, k, _ = split(func, rows, at, 4, 2, 0)
    assert (np.concatenate([q, k], 1) == rows[:, :6]).all()


def test_a_part_of_each_row_may_turn() -> None:
    rows = np.random.default_rng(0).standard_normal((2, 3, DIM)).astype("float32")
    func = rope.llama_rope_with_position_map(THETA, 1.0, DIM, 1, 1, "float32", {}, rotary_dim=8)
    q, *_ = split(func, rows, [1, 5], 1, 1, 1)
    turned = reference.rope(rows[:, :1, :8], np.array([1, 5]), THETA, 1.0)
    np.testing.assert_allclose(q, np.concatenate([turned, rows[:, :1, 8:]], -1), atol=1e-5)


def test_neighbours_are_pairs() -> None:
    rows = np.random.default_rng(0).standard_normal((2, 3, DIM)).astype("float32")
    func = rope.llama4_rope_with_position_map(THETA, 1.0, DIM, 1, 1, "float32", {})
    q, *_ = split(func, rows, [1, 5], 1, 1, 1)
    apart = np.concatenate([rows[:, :1, ::2], rows[:, :1, 1::2]], -1)
    turned = reference.rope(apart, np.array([1, 5]), THETA, 1.0)
    np.testing.assert_allclose(q[..., ::2], turned[..., : DIM // 2], atol=1e-5)
    np.testing.assert_allclose(q[..., 1::2], turned[..., DIM // 2 :], atol=1e-5)


@pytest.mark.parametrize("length", [2, 5])
def test_factors_of_long_and_of_short_texts(length: int) -> None:
    scaling = {"rope_type": "longrope", "max_position_embeddings": 4,
               "original_max_position_embeddings": 4}  # fmt: skip
    rows = np.random.default_rng(0).standard_normal((length, 3, DIM)).astype("float32")
    factors = np.linspace(1, 3, DIM).astype("float32")
    func = rope.llama_rope_with_position_map(THETA, 1.0, DIM, 1, 1, "float32", scaling)
    q, *_ = split(func, rows, range(length), 1, 1, factors)
    own = factors[: DIM // 2] if length > 4 else factors[DIM // 2 :]
    turn = np.arange(length)[:, None, None] * OWN / own
    left, right = rows[:, :1, : DIM // 2], rows[:, :1, DIM // 2 :]
    wanted = np.concatenate([left * np.cos(turn) - right * np.sin(turn),
                             right * np.cos(turn) + left * np.sin(turn)], -1)  # fmt: skip
    np.testing.assert_allclose(q, wanted, atol=1e-5)
