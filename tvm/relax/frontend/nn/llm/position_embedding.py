"""Rotary position embeddings: angles by several rules of scaling, and kernels that turn rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import tir
from tvm.error import message
from tvm.topi.kernel import Kernel, number
from tvm.topi.loops import Body, load, loop, store, when

if TYPE_CHECKING:
    from tvm.relax.frontend.nn.core import Tensor

Angles = tuple[Any, Any, dict[tir.Var, Any]]
FreqFunc = Callable[..., Angles]


def _inverse(theta: Any, exponent: Any, d_range: int) -> Any:
    """theta ** -(exponent / d_range)"""
    return tir.const(1, "float32") / _power(theta, exponent, d_range)


def _power(theta: Any, exponent: Any, d_range: int) -> Any:
    base = tir.const(theta, "float32") if isinstance(theta, (int, float)) else theta
    return tir.power(base, exponent.astype("float32") / tir.const(d_range, "float32"))


def _exponent(d: Any, d_range: int) -> Any:
    """Twice the number of a pair whose parts stand half a row apart."""
    return tir.floormod(d * 2, d_range)


def _angles(freq: Any, dtype: str, scale: float = 1.0, **given: Any) -> Angles:
    """Cosine and sine of an angle that has a name, with the values of the names."""
    angle = tir.Var("freq", "float32")
    cosine, sine = tir.cos(angle), tir.sin(angle)
    if scale != 1.0:
        cosine, sine = cosine * scale, sine * scale
    return cosine.astype(dtype), sine.astype(dtype), {angle: freq, **given.get("names", {})}


def _float(s: Any) -> Any:
    return s.astype("float32") if isinstance(s, tir.PrimExpr) else tir.const(s, "float32")


def rope_freq_default(s: Any, d: Any, d_range: int, theta: Any, dtype: str) -> Angles:
    """The angle s / theta ** (2 d / d_range) of position s in dimension d, as cosine and sine."""
    return _angles(_float(s) / _power(theta, _exponent(d, d_range), d_range), dtype)


def rope_freq_gptj(s: Any, d: Any, d_range: int, theta: Any, dtype: str) -> Angles:
    """As the default, where the parts of a pair are neighbours."""
    exponent = tir.floormod(2 * tir.floordiv(d, 2), d_range)
    return _angles(_float(s) / _power(theta, exponent, d_range), dtype)


def _smoothed(
    s: Any, inverse: Any, dtype: str, factor: float, low: float, high: float, length: float
) -> Angles:
    """Slow turns are slowed by `factor`, fast ones stay; between them they go over linearly."""
    own = tir.Var("orig_freq", "float32")
    if low == high:
        slow = 2 * math.pi / own > length / low
        scaled = tir.if_then_else(slow, own / factor, own)
    else:
        share = own * (length / (2 * math.pi * (high - low))) - low / (high - low)
        fast = tir.max(tir.const(0, "float32"), tir.min(tir.const(1, "float32"), share))
        scaled = (1.0 - fast) * own / factor + fast * own
    return _angles(_float(s) * scaled, dtype, names={own: inverse})


def rope_freq_llama3(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, factor: float, low_freq_factor: float,
    high_freq_factor: float, original_max_position_embeddings: float,
) -> Angles:  # fmt: skip
    """The angles of Llama 3: wave lengths beyond the first length of training are stretched."""
    return _smoothed(
        s, _inverse(theta, _exponent(d, d_range), d_range), dtype, factor, low_freq_factor,
        high_freq_factor, original_max_position_embeddings,
    )  # fmt: skip


def rope_freq_llama4(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, factor: float, low_freq_factor: float,
    high_freq_factor: float, original_max_position_embeddings: float,
) -> Angles:  # fmt: skip
    """The angles of Llama 4: those of Llama 3, where the parts of a pair are neighbours."""
    exponent = tir.floormod(2 * tir.floordiv(d, 2), d_range)
    return _smoothed(
        s, _inverse(theta, exponent, d_range), dtype, factor, low_freq_factor, high_freq_factor,
        original_max_position_embeddings,
    )  # fmt: skip


def rope_freq_longrope(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, max_position_embeddings: int,
    original_max_position_embeddings: int, ext_factors: Any = None,
) -> Angles:  # fmt: skip
    """Angles divided by a factor of each dimension; cosine and sine grow with the length."""
    ratio = max_position_embeddings / original_max_position_embeddings
    grown = math.log(ratio) / math.log(original_max_position_embeddings) if ratio > 1 else 0.0
    divisor = _power(theta, _exponent(d, d_range), d_range)
    if ext_factors is not None:
        divisor = ext_factors[tir.floormod(d, d_range // 2)] * divisor
    return _angles(_float(s) / divisor, dtype, math.sqrt(1 + grown))


def yarn_find_correction_dim(
    num_rotations: int, d: Any, theta: Any, max_position_embeddings: int
) -> Any:
    """The dimension that turns so many times within the given length."""
    base = tir.log(theta) if isinstance(theta, tir.PrimExpr) else math.log(theta)
    turns = math.log(max_position_embeddings / (num_rotations * 2 * math.pi))
    return d * turns / (2 * base)


def yarn_find_correction_range(
    low_rot: int, high_rot: int, d: Any, theta: Any, max_position_embeddings: int
) -> tuple[Any, Any]:
    """The first and the last dimension between two numbers of turns."""
    low = yarn_find_correction_dim(low_rot, d, theta, max_position_embeddings)
    high = yarn_find_correction_dim(high_rot, d, theta, max_position_embeddings)
    if isinstance(low, tir.PrimExpr):
        zero, end = tir.const(0, low.dtype), tir.const(d - 1, low.dtype)
        return tir.max(tir.floor(low), zero), tir.min(tir.ceil(high), end)
    return max(math.floor(low), 0), min(math.ceil(high), d - 1)


def rope_freq_yarn(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str,
    original_max_position_embeddings: int, scaling_factor: float, beta_fast: int, beta_slow: int,
) -> Angles:  # fmt: skip
    """Slow dimensions are slowed by the factor, fast ones stay, by their number of turns."""
    inverse = _inverse(theta, _exponent(d, d_range), d_range)
    first, last = yarn_find_correction_range(
        beta_fast, beta_slow, d_range, theta, original_max_position_embeddings
    )
    first, last = _float(first), _float(last)
    width = tir.max(last - first, tir.const(0.001, "float32"))
    pair = _float(tir.floormod(d, d_range // 2))
    one, zero = tir.const(1, "float32"), tir.const(0, "float32")
    slow = tir.max(tir.min((pair - first) / width, one), zero)
    own = tir.Var("inv_freq", "float32")
    scaled = own / float(scaling_factor) * slow + own * (1.0 - slow)
    return _angles(_float(s) * scaled, dtype, names={own: inverse})


_SMOOTHED = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
_RULES: dict[str, tuple[FreqFunc, tuple[str, ...]]] = {
    "gptj": (rope_freq_gptj, ()),
    "llama3": (rope_freq_llama3, _SMOOTHED),
    "llama4": (rope_freq_llama4, _SMOOTHED),
    "longrope": (
        rope_freq_longrope, ("max_position_embeddings", "original_max_position_embeddings")
    ),
    "yarn": (
        rope_freq_yarn, ("original_max_position_embeddings", "beta_fast", "beta_slow")
    ),
}  # fmt: skip
# Pairs of these are neighbours; those of the others stand half a row apart.
_NEIGHBOURS = ("gptj", "llama4")


def switch_rope_freq_func(rope_scaling: dict[str, Any]) -> FreqFunc:
    """The rule that `rope_type` names, with its options."""
    kind = rope_scaling.get("rope_type", "default")
    if kind == "default":
        return rope_freq_default
    if kind not in _RULES:
        raise ValueError(
            message("Unsupported RoPE scaling type", found=repr(kind),
                    legal=f"default, {', '.join(_RULES)}")
        )  # fmt: skip
    rule, names = _RULES[kind]
    missing = [name for name in names if name not in rope_scaling]
    if missing:
        raise ValueError(
            message(f"rope_scaling of type {kind}", found=f"no {', '.join(missing)}",
                    legal=f"all of {', '.join(names)}")
        )  # fmt: skip
    options = {name: rope_scaling[name] for name in names}
    if kind == "yarn":
        options["scaling_factor"] = rope_scaling["factor"]
    return partial(rule, **options) if options else rule


def turned(
    read: Callable[[Any], Any], d: Any, position: Any, rotary_dim: int, theta: Any,
    rope_scaling: dict[str, Any], **options: Any,
) -> Any:  # fmt: skip
    """Element d of a row, read by `read`, turned by its position; in float32."""
    half = rotary_dim // 2
    if rope_scaling.get("rope_type") in _NEIGHBOURS:
        is_left = tir.floormod(d, 2).equal(0)
        other = tir.if_then_else(is_left, -_float(read(d + 1)), _float(read(d - 1)))
    else:
        other = tir.if_then_else(d < half, -_float(read(d + half)), _float(read(d - half)))
    cosine, sine, names = switch_rope_freq_func(rope_scaling)(
        position, d, rotary_dim, theta, "float32", **options
    )
    value = cosine * _float(read(d)) + sine * other
    for var, known in names.items():
        value = tir.Let(var, known, value)
    return value


def llama_rope(
    qkv: Tensor, total_seq_len: tir.Var, theta: float, scale: float, num_q_heads: int,
    num_kv_heads: int, rope_scaling: dict[str, Any], rotary_dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries, keys and values of (batch, length, heads, dim); the first two are turned.

    The last position is `total_seq_len - 1`.
    """
    from tvm.relax.frontend.nn import Tensor, op

    batch, length, heads, dim = qkv.shape
    rotary: Any = rotary_dim or dim
    dtype = qkv.dtype
    kernel = Kernel("llama_rope")
    b, n = kernel.size("batch_size"), kernel.size("seq_len")
    source = kernel.buffer("qkv", (b, n, heads, dim), dtype)
    parts = [
        kernel.buffer(name, (b, n, count, dim), dtype)
        for name, count in (("q", num_q_heads), ("k", num_kv_heads), ("v", num_kv_heads))
    ]
    total = kernel.scalar("total_seq_len", "int64")

    def row(i: Any, s: Any, h: Any) -> tir.Stmt:
        position = (total - n + s).astype("float32") * tir.const(scale, "float32")
        return _split(source, (i, s), h, parts, position, rotary, theta, rope_scaling, None, {})

    func = kernel.func(kernel.rows((b, n, heads), row))
    outs = [
        Tensor.placeholder((batch, length, count, dim), dtype)
        for count in (num_q_heads, num_kv_heads, num_kv_heads)
    ]
    made: tuple[Tensor, Tensor, Tensor] = op.tensor_ir_op(
        func, "llama_rope", args=[qkv, total_seq_len], out=outs
    )
    return made


def _split(
    source: tir.Buffer, leading: tuple[Any, ...], h: Any, parts: list[tir.Buffer], position: Any,
    rotary: int, theta: Any, rope_scaling: dict[str, Any], apply: Any, options: dict[str, Any],
) -> tir.Stmt:  # fmt: skip
    """Copy one head to queries, keys or values; the first two turned."""
    q, k, v = parts
    heads, kv_heads, dim = q.shape[-2], k.shape[-2], q.shape[-1]

    def read(d: Any) -> Any:
        return load(source, *leading, h, d)

    def element(d: Any) -> Any:
        value = turned(read, d, position, rotary, theta, rope_scaling, **options)
        inside = d < rotary if apply is None else tir.all(d < rotary, apply > 0)
        return tir.if_then_else(inside, value.astype(source.dtype), read(d))

    def copy(target: tir.Buffer, head: Any, value: Body) -> tir.Stmt:
        return loop(dim, lambda d: store(target, value(d), *leading, head, d), "d")

    return when(
        h < heads,
        copy(q, h, element),
        when(
            h < heads + kv_heads,
            copy(k, h - heads, element),
            copy(v, h - heads - kv_heads, read),
        ),
    )


class _FactorsByLength:
    """The first half of a tensor where the text is long, else the second."""

    def __init__(self, factors: tir.Buffer, is_long: Any, half: int) -> None:
        self._factors, self._is_long, self._half = factors, is_long, half

    def __getitem__(self, d: Any) -> Any:
        factors = self._factors
        return tir.if_then_else(self._is_long, factors[d], factors[d + self._half])


def _rope_by_positions(
    kernel: Kernel, theta: float, scale: float, head_dim: int, num_q_heads: int,
    num_kv_heads: int, dtype: str, rope_scaling: dict[str, Any], rotary_dim: int | None,
) -> tir.PrimFunc:  # fmt: skip
    rotary, heads = rotary_dim or head_dim, num_q_heads + 2 * num_kv_heads
    n = kernel.size("seq_len")
    source = kernel.buffer("qkv", (n, heads, head_dim), dtype)
    positions = kernel.indices("position_map", n)
    parts = [
        kernel.buffer(name, (n, count, head_dim), dtype)
        for name, count in (("q", num_q_heads), ("k", num_kv_heads), ("v", num_kv_heads))
    ]
    options: dict[str, Any] = {}
    apply = None
    if rope_scaling.get("rope_type") == "longrope":
        factors = kernel.buffer("ext_factors", (rotary,), "float32")
        is_long = n > rope_scaling["original_max_position_embeddings"]
        options["ext_factors"] = _FactorsByLength(factors, is_long, rotary // 2)
    else:
        apply = kernel.scalar("apply_rope", "int64")

    def row(s: Any, h: Any) -> tir.Stmt:
        position = number(positions, s).astype("float32") * tir.const(scale, "float32")
        return _split(source, (s,), h, parts, position, rotary, theta, rope_scaling, apply, options)

    return kernel.func(kernel.rows((n, heads), row))


def llama_rope_with_position_map(
    theta: float, scale: float, head_dim: int, num_q_heads: int, num_kv_heads: int, dtype: str,
    rope_scaling: dict[str, Any], rotary_dim: int | None = None, target: Any = None,
) -> tir.PrimFunc:  # fmt: skip
    """A kernel (qkv, positions, q, k, v, apply_rope): rows split, queries and keys turned.

    With rope_type longrope the last parameter is the tensor of factors, for long texts first.
    """
    kernel = Kernel("fused_rope", target)
    return _rope_by_positions(
        kernel, theta, scale, head_dim, num_q_heads, num_kv_heads, dtype, rope_scaling, rotary_dim
    )


def llama4_rope_with_position_map(
    theta: float, scale: float, head_dim: int, num_q_heads: int, num_kv_heads: int, dtype: str,
    rope_scaling: dict[str, Any], rotary_dim: int | None = None, target: Any = None,
) -> tir.PrimFunc:  # fmt: skip
    """As `llama_rope_with_position_map`, for models whose pairs are neighbours."""
    kernel = Kernel("fused_rope", target)
    scaling = {"rope_type": "gptj", **rope_scaling}
    return _rope_by_positions(
        kernel, theta, scale, head_dim, num_q_heads, num_kv_heads, dtype, scaling, rotary_dim
    )
