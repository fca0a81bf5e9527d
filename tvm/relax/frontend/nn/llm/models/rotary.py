"""Rotary positions of a decoder: the frequencies of its rule of scaling, and the turning of rows.

    angle[n, i] = position[n] * frequency[i]
    turned[.., i], turned[.., i + half] = x[i] cos - x[i + half] sin,  x[i + half] cos + x[i] sin

Cosine and sine are made once a pass, for all layers (Su et al. 2021, with the scalings of their
successors). The cache then keeps keys that are turned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm import te, tir
from tvm.error import ArgumentValueError, message
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.core import Tensor

from .config import ModelConfig
from .entries import Entries

Table = tuple[Tensor, Tensor]  # cosine and sine, (tokens, rotary_dim / 2)


def frequencies(config: ModelConfig, theta: float | None = None) -> tuple[NDArray[Any], float]:
    """Angles per position (rotary_dim / 2,) in float32, and what cosine and sine are scaled by."""
    half = config.rotary_dim // 2
    what = f"the rule of rotary positions of a model of type {config.family!r}"
    exponents = np.arange(half, dtype="float64") / half
    plain = (theta or config.rope_theta) ** -exponents
    scaling = Entries(config.rope_scaling if theta is None else {}, what)
    kind = scaling.text("rope_type", "default")
    if kind not in _RULES:
        raise ArgumentValueError(
            message(f"rotary positions scaled by {kind!r}", found=str(dict(scaling)),
                    legal=", ".join(sorted(_RULES)))
        )  # fmt: skip
    values, grown = _RULES[kind](plain, scaling, config)
    return values.astype("float32"), grown


def _default(plain: NDArray[Any], _: Entries, __: ModelConfig) -> Any:
    return plain, 1.0


def _linear(plain: NDArray[Any], scaling: Entries, _: ModelConfig) -> Any:
    return plain / scaling.number("factor"), 1.0


def _llama3(plain: NDArray[Any], scaling: Entries, _: ModelConfig) -> Any:
    """Waves longer than the first context are stretched, short ones stay."""
    low, high = (scaling.number(f"{name}_freq_factor") for name in ("low", "high"))
    length = scaling.size("original_max_position_embeddings") * plain / (2 * math.pi)
    fast = np.clip((length - low) / max(high - low, 1e-9), 0, 1)
    return plain * (fast + (1 - fast) / scaling.number("factor")), 1.0


def _yarn(plain: NDArray[Any], scaling: Entries, config: ModelConfig) -> Any:
    """Dimensions that turn rarely within the first context are slowed (Peng et al. 2023)."""
    factor = scaling.number("factor")
    first = scaling.number("original_max_position_embeddings", config.context_length / factor)

    def dimension(turns: float) -> float:
        waves = math.log(first / (turns * 2 * math.pi))
        return config.rotary_dim * waves / (2 * math.log(config.rope_theta))

    low = max(math.floor(dimension(scaling.number("beta_fast", 32))), 0)
    high = min(math.ceil(dimension(scaling.number("beta_slow", 1))), config.rotary_dim - 1)
    slow = np.clip((np.arange(len(plain)) - low) / max(high - low, 1e-3), 0, 1)
    grown = scaling.number("attention_factor", 0.1 * math.log(max(factor, 1)) + 1)
    return plain * ((1 - slow) + slow / factor), grown


def _longrope(plain: NDArray[Any], scaling: Entries, config: ModelConfig) -> Any:
    """Each dimension has a divisor: one list for the first context, one for longer ones."""
    first = scaling.size("original_max_position_embeddings")
    ratio = config.context_length / first
    chosen = scaling.numbers("long_factor" if ratio > 1 else "short_factor", len(plain))
    usual = math.sqrt(1 + math.log(ratio) / math.log(max(first, 2))) if ratio > 1 else 1.0
    return plain / np.asarray(chosen), scaling.number("attention_factor", usual)


def _divisors(plain: NDArray[Any], scaling: Entries, _: ModelConfig) -> Any:
    """Each dimension has a divisor."""
    return plain / np.asarray(scaling.numbers("divisors", len(plain))), 1.0


_RULES = {
    "default": _default, "linear": _linear, "llama3": _llama3, "yarn": _yarn,
    "longrope": _longrope, "divisors": _divisors,
}  # fmt: skip


def table(config: ModelConfig, positions: Tensor, theta: float | None = None) -> Table:
    """Cosine and sine of the angles at positions (tokens,), float32."""
    values, grown = frequencies(config, theta)
    count = positions.shape[0]
    column = op.reshape(op.astype(positions, "float32"), (count, 1))
    angles = column * Tensor.from_const(values.reshape(1, -1))

    def function(which: Any, name: str) -> Tensor:
        def compute(x: te.Tensor) -> te.Tensor:
            made: te.Tensor = te.compute(
                x.shape, lambda i, j: which(x[i, j]) * tir.const(grown, "float32"), name=name
            )
            return made

        result: Tensor = op.tensor_expr_op(compute, f"rotary_{name}", [angles])
        return result

    return function(tir.cos, "cos"), function(tir.sin, "sin")


def turn(qkv: Tensor, cos_sin: Table, heads: int, rotary_dim: int) -> Tensor:
    """Turn the first `heads` heads of (batch, length, all heads, dim); the others stay.

    Tokens are numbered through batch and length, as the rows of the table are.
    """
    half = rotary_dim // 2

    def compute(x: te.Tensor, cos: te.Tensor, sin: te.Tensor) -> te.Tensor:
        length = x.shape[1]

        def element(b: Any, s: Any, h: Any, d: Any) -> Any:
            row, pair = b * length + s, tir.floormod(d, half)
            other = tir.if_then_else(d < half, -x[b, s, h, d + half], x[b, s, h, d - half])
            turned = x[b, s, h, d] * cos[row, pair] + other * sin[row, pair]
            return tir.if_then_else(tir.all(h < heads, d < rotary_dim), turned, x[b, s, h, d])

        out: te.Tensor = te.compute(x.shape, element, name="turned")
        return out

    result: Tensor = op.tensor_expr_op(compute, "rotary_turn", [qkv, *cos_sin])
    return result
