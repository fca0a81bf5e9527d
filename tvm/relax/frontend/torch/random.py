"""Tensors of random numbers; none is what torch draws, the distributions are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import TupleGetItem
from tvm.relax.frontend.random import drawn

from .create import size_and_dtype
from .dtypes import DEFAULT_FLOAT, is_float
from .registry import convert
from .values import Expr, cast, common_sizes, dtype_of, rank, refuse, scalar, sizes, tensor_of

_BITS: Final = {"float16": 11, "bfloat16": 8}  # of a fraction
_LEAST: Final = 2.0**-24  # above 0, for logarithms


def _even(bb: BlockBuilder, shape: Sequence[Any], dtype: str, low: float = 0.0) -> Expr:
    """Numbers of [low, 1), in steps that a 16-bit type has: rounding to it would give 1."""
    if not is_float(dtype):
        raise refuse("random numbers", dtype, "a type of floats")
    if dtype not in _BITS:
        return bb.emit(drawn(bb, "uniform", [low, 1.0], shape, dtype))
    steps = scalar(2.0 ** _BITS[dtype], "float32")
    fine = bb.emit(drawn(bb, "uniform", [0.0, 1.0], shape, "float32"))
    coarse = op.divide(op.floor(op.multiply(fine, steps)), steps)
    return bb.emit(op.astype(op.maximum(coarse, scalar(low, "float32")), dtype))


def _standard(bb: BlockBuilder, shape: Sequence[Any], dtype: str) -> Expr:
    """Numbers of mean 0 and deviation 1."""
    if not is_float(dtype):
        raise refuse("random numbers", dtype, "a type of floats")
    return bb.emit(drawn(bb, "normal", [0.0, 1.0], shape, dtype))


def _declare(name: str, draw: Callable[..., Expr]) -> None:
    """`torch.rand(2, 3)`, and `torch.rand_like(x)`."""

    @convert(name)
    def of_a_size(bb: BlockBuilder, *size: Any, dtype: Any = None, **named: Any) -> Expr:
        given, kind = size_and_dtype(size, dtype, named)
        return draw(bb, given, kind)

    @convert(f"{name}_like")
    def of_a_tensor(bb: BlockBuilder, input: Expr, dtype: Any = None) -> Expr:
        return draw(bb, sizes(input), dtype or dtype_of(input))


_declare("rand", _even)
_declare("randn", _standard)


def _integers(bb: BlockBuilder, low: Any, high: Any, shape: Sequence[Any], dtype: str) -> Expr:
    whole = "int64" if is_float(dtype) else dtype
    return cast(bb, bb.emit(drawn(bb, "randint", [low, high], shape, whole)), dtype)


@convert("randint")
def randint(bb: BlockBuilder, *given: Any, dtype: Any = None, **named: Any) -> Expr:
    """`randint(high, size)` and `randint(low, high, size)`."""
    *limits, size = given if "size" not in named else (*given, named["size"])
    limits = [named[key] for key in ("low",) if key in named] + limits
    limits += [named[key] for key in ("high",) if key in named]
    low, high = (0, *limits)[-2:]
    return _integers(bb, low, high, list(size), dtype or "int64")


@convert("randint_like")
def randint_like(bb: BlockBuilder, input: Expr, *limits: Any, dtype: Any = None,
                 low: Any = 0, high: Any = None) -> Expr:  # fmt: skip
    low, high = (low, *limits)[-2:] if high is None else ((*limits, low)[0], high)
    return _integers(bb, low, high, sizes(input), dtype or dtype_of(input))


@convert("randperm")
def randperm(bb: BlockBuilder, n: Any, dtype: Any = None) -> Expr:
    """The numbers below n in some order: the places of random numbers when they are sorted."""
    order = bb.emit(op.argsort(_even(bb, [n], "float64"), 0, False, "int64"))
    return cast(bb, order, dtype or "int64")


# --- of a tensor's shape, in its place ---


def _scaled(bb: BlockBuilder, x: Expr, factor: Any, term: Any) -> Expr:
    dtype = dtype_of(x)
    return op.add(op.multiply(x, tensor_of(bb, factor, dtype)), tensor_of(bb, term, dtype))


@convert("uniform")
def uniform(bb: BlockBuilder, input: Expr, *limits: Any, to: Any = 1.0, **named: Any) -> Expr:
    """Numbers of [from, to)."""
    low, high = (*limits, *(named.get("from", 0.0), to)[len(limits) :])
    return _scaled(bb, _even(bb, sizes(input), dtype_of(input)), high - low, low)


@convert("normal_", "normal.default", "normal_functional")
def normal_like(bb: BlockBuilder, input: Expr, mean: Any = 0.0, std: Any = 1.0) -> Expr:
    return _scaled(bb, _standard(bb, sizes(input), dtype_of(input)), std, mean)


@convert("normal")
def normal(bb: BlockBuilder, mean: Any, std: Any = 1.0, size: Any = None,
           dtype: Any = None) -> Expr:  # fmt: skip
    """By means and deviations, one an element where they are tensors."""
    tensors = [x for x in (mean, std) if isinstance(x, RelaxExpr)]
    shape = list(size) if size is not None else common_sizes(tensors)
    kind = dtype or (dtype_of(tensors[0]) if tensors else DEFAULT_FLOAT)
    return _scaled(bb, _standard(bb, shape, kind), std, mean)


@convert("log_normal")
def log_normal(bb: BlockBuilder, input: Expr, mean: Any = 1.0, std: Any = 2.0) -> Expr:
    return op.exp(bb.emit(normal_like(bb, input, mean, std)))


def _waiting(bb: BlockBuilder, input: Expr) -> Expr:
    """Exponentially distributed with rate 1, in the shape of a tensor."""
    return op.negative(op.log(_even(bb, sizes(input), dtype_of(input), _LEAST)))


@convert("exponential")
def exponential(bb: BlockBuilder, input: Expr, lambd: Any = 1.0) -> Expr:
    return op.divide(_waiting(bb, input), tensor_of(bb, lambd, dtype_of(input)))


@convert("cauchy")
def cauchy(bb: BlockBuilder, input: Expr, median: Any = 0.0, sigma: Any = 1.0) -> Expr:
    turn = _scaled(bb, _even(bb, sizes(input), dtype_of(input)), math.pi, -math.pi / 2)
    return _scaled(bb, bb.emit(op.tan(turn)), sigma, median)


@convert("geometric")
def geometric(bb: BlockBuilder, input: Expr, p: float) -> Expr:
    """How many trials it takes, of which each succeeds with probability p."""
    kind = dtype_of(input) if is_float(dtype_of(input)) else DEFAULT_FLOAT
    even = _even(bb, sizes(input), kind, _LEAST)
    rate = scalar(math.log1p(-p) if p < 1 else -math.inf, kind)
    trials = op.maximum(op.ceil(op.divide(op.log(even), rate)), scalar(1, kind))
    return cast(bb, bb.emit(trials), dtype_of(input))


# --- by probabilities ---


@convert("bernoulli")
def bernoulli(bb: BlockBuilder, input: Expr, p: Any = None) -> Expr:
    """1 with probability p, or with that which each element tells."""
    chance = cast(bb, tensor_of(bb, input if p is None else p), "float32")
    even = _even(bb, sizes(input), "float32")
    return op.astype(op.less(even, chance), dtype_of(input))


@convert("multinomial")
def multinomial(
    bb: BlockBuilder, input: Expr, num_samples: Any, replacement: bool = False
) -> Any:
    """Places, drawn by their weights: the largest logarithms with Gumbel noise (Gumbel 1954)."""
    scores = op.log(cast(bb, input, "float32"))
    shape, last = sizes(input), rank(input) - 1
    if replacement:
        scores, shape = op.expand_dims(scores, [last]), [*shape[:-1], num_samples, shape[-1]]
    noise = op.negative(op.log(op.negative(op.log(_even(bb, shape, "float32", _LEAST)))))
    noisy = bb.emit(op.add(scores, noise))
    if replacement:
        return op.argmax(noisy, last + 1)
    return TupleGetItem(bb.emit(op.topk(noisy, num_samples, -1, "both", True, "int64")), 1)
