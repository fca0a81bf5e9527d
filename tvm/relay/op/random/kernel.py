"""Random numbers by keys: equal keys give equal numbers, split keys independent ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call, Constant, Tuple, TupleWrapper, const
from tvm.relay.op.algorithm import searchsorted
from tvm.relay.op.declare import Expr, Relate, relay_op
from tvm.relay.op.refusals import refusing
from tvm.relay.op.relations import extents, tensor
from tvm.relay.op.transform import cumsum, strided_slice
from tvm.relay.ty import TensorType
from tvm.topi import random as kernels

_KEY = TensorType((10,), "uint64")


def _checked_key(ctx: Relate) -> bool:
    found = tensor(ctx, 0)
    if found is None:
        return False
    if extents(found) != [10] or str(found.dtype) != "uint64":
        raise ctx.fail("the operand is no key", "relay.random.threefry_key(seed)")
    return True


def _words_type(ctx: Relate) -> Type | None:
    dtype = getattr(ctx.attrs, "out_dtype", "uint64")
    shape = TensorType(ctx.attrs.out_shape, dtype)
    return TupleType([_KEY, shape]) if _checked_key(ctx) else None


def _keys_type(ctx: Relate) -> Type | None:
    return TupleType([_KEY, _KEY]) if _checked_key(ctx) else None


@refusing
def threefry_key(seed: int) -> Constant:
    """The key of a seed of up to 256 bits, its lowest word first."""
    seeds = [seed >> 64 * k & (1 << 64) - 1 for k in range(4)]
    words = [*seeds, 0, 0, 0, 0, 1 << 63, 0]
    return Constant(np.array(words, "uint64"))


@relay_op("random.threefry_generate", "ThreefryGenerateAttrs", operands=("key",),
          relation=_words_type, lower=lambda bb, key, *, out_shape: bb.call_te(
              kernels.threefry_generate, key, [int(e) for e in out_shape]))  # fmt: skip
def _generate(key: Expr, out_shape: Sequence[int]) -> Call:
    """A key for what follows, and random words."""
    return _generate.call(key, out_shape=tuple(out_shape))


def threefry_generate(key: Expr, shape: Sequence[int]) -> Call:
    """A key for what follows, and random words of 64 bits."""
    made: Call = _generate(key, shape)
    return made


@relay_op("random.threefry_split", relation=_keys_type,
          lower=lambda bb, key: bb.call_te(kernels.threefry_split, key))  # fmt: skip
def _split(key: Expr) -> Call:
    """Two keys of one."""
    return _split.call(key)


def threefry_split(key: Expr) -> Call:
    """Two keys whose numbers are independent of each other."""
    made: Call = _split(key)
    return made


def _numbers(kernel: Any) -> Any:
    return lambda bb, key, a, b, *, out_shape, out_dtype: bb.call_te(
        kernel, key, a, b, [int(e) for e in out_shape], str(out_dtype)
    )


@relay_op("random.uniform", "UniformAttrs", operands=("key", "low", "high"), relation=_words_type,
          lower=_numbers(kernels.uniform))  # fmt: skip
def _uniform(key: Expr, low: Expr, high: Expr, out_shape: Sequence[int], out_dtype: str) -> Call:
    """A key for what follows, and numbers between two."""
    return _uniform.call(key, low, high, out_shape=tuple(out_shape), out_dtype=out_dtype)


def _as_const(value: Any, dtype: str) -> Any:
    return const(float(value), dtype) if isinstance(value, (int, float)) else value


def _checked_dtype(dtype: str) -> str:
    if dtype not in ("float32", "float64"):
        raise TypeError(f"random numbers of {dtype}; legal: float32, float64")
    return dtype


def uniform(
    key: Expr, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0
) -> Call:
    """A key for what follows, and numbers in [low, high)."""
    a, b = (_as_const(value, _checked_dtype(dtype)) for value in (low, high))
    made: Call = _uniform(key, a, b, shape, dtype)
    return made


@relay_op("random.normal", "NormalAttrs", operands=("key", "mean", "scale"), relation=_words_type,
          lower=_numbers(kernels.normal))  # fmt: skip
def _normal(key: Expr, mean: Expr, scale: Expr, out_shape: Sequence[int], out_dtype: str) -> Call:
    """A key for what follows, and numbers around a mean."""
    return _normal.call(key, mean, scale, out_shape=tuple(out_shape), out_dtype=out_dtype)


def normal(
    key: Expr, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0
) -> Call:
    """A key for what follows, and numbers of a normal distribution."""
    a, b = (_as_const(value, _checked_dtype(dtype)) for value in (mean, scale))
    made: Call = _normal(key, a, b, shape, dtype)
    return made


@refusing
def multinomial(key: Expr, probs: Expr, num_samples: int) -> Tuple:
    """A key for what follows, and indices that are drawn as often as `probs` says.

    `probs` (n,) or (m, n) need not sum to one; the indices are (num_samples,) or (m, num_samples).
    """
    from tvm.relay.transform.infer_type import InferTypeLocal

    found: Any = InferTypeLocal(probs)
    *rows, count = (int(e) for e in found.concrete_shape)
    up_to = cumsum(probs, axis=len(rows))
    whole = _last(up_to, count, len(rows))
    made = TupleWrapper(uniform(key, (*rows, num_samples), str(found.dtype)), 2)
    drawn = searchsorted(up_to / whole, made[1], right=True)
    return Tuple([made[0], drawn])


def _last(value: Expr, count: int, axis: int) -> Expr:
    return strided_slice(value, begin=[count - 1], end=[count], axes=[axis])


__all__ = [
    "multinomial", "normal", "threefry_generate", "threefry_key", "threefry_split", "uniform",
]  # fmt: skip
