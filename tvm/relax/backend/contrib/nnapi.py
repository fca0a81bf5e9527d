"""Operators that Android's neural networks API takes over, by its feature levels.

The levels are those of the NDK's reference of ANEURALNETWORKS_*: level 1 came with Android 8.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relax import transform
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.dpl.pattern import DFPattern, is_op, wildcard

Entry: TypeAlias = tuple[str, DFPattern, Mapping[str, DFPattern]]

_BINARY: Final = ("add", "multiply", "divide", "subtract", "maximum", "minimum")
_UNARY: Final = ("floor", "nn.relu", "nn.softmax", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt",
                 "abs", "negative")  # fmt: skip
_LEVELS: Final[dict[str, int]] = {
    "add": 1, "multiply": 1, "floor": 1, "nn.relu": 1, "nn.softmax": 1, "sigmoid": 1, "tanh": 1,
    "nn.conv2d": 1, "nn.max_pool2d": 1, "astype": 3, "divide": 2, "subtract": 2, "mean": 2,
    "permute_dims": 2, "maximum": 3, "minimum": 3, "exp": 3, "log": 3, "sqrt": 3, "rsqrt": 3,
    "abs": 3, "negative": 3, "matmul": 6,
}  # fmt: skip
_LATEST: Final = max(_LEVELS.values())


def _named(op: str, operands: int, **parts: int) -> Entry:
    held = [wildcard() for _ in range(operands)]
    return f"nnapi.{op}", is_op(f"relax.{op}")(*held), {n: held[at] for n, at in parts.items()}


def elementwise_binary_patterns() -> list[Entry]:
    """Operators of two tensors, element by element."""
    return [_named(op, 2) for op in _BINARY]


def unary_patterns() -> list[Entry]:
    """Operators of one tensor."""
    return [_named(op, 1) for op in _UNARY]


def matmul_pattern() -> Entry:
    """Products of matrices."""
    return _named("matmul", 2)


def permute_dims_pattern() -> Entry:
    """Transpositions."""
    return _named("permute_dims", 1)


def astype_pattern() -> Entry:
    """Casts between the two widths of floating point numbers."""
    data = wildcard().has_dtype("float16") | wildcard().has_dtype("float32")
    out = is_op("relax.astype")(data)
    return "nnapi.astype", out.has_dtype("float16") | out.has_dtype("float32"), {}


def mean_pattern() -> Entry:
    """Means."""
    return _named("mean", 1)


def conv2d_pattern() -> Entry:
    """Convolutions with a bias along the channels."""
    data, weight = wildcard(), wildcard().has_dtype("float32")
    bias = wildcard()
    out = is_op("relax.add")(is_op("relax.nn.conv2d")(data, weight), bias)
    return "nnapi.nn.conv2d", out, {"input": data, "weight": weight, "bias": bias}


def max_pool2d_pattern() -> Entry:
    """Maxima over windows."""
    return _named("nn.max_pool2d", 1)


register_patterns(
    [
        *elementwise_binary_patterns(), *unary_patterns(), matmul_pattern(),
        permute_dims_pattern(), astype_pattern(), mean_pattern(), conv2d_pattern(),
        max_pool2d_pattern(),
    ]
)  # fmt: skip


def min_feature_level(pattern_name: str) -> int:
    """The first level that has what a pattern needs."""
    name = pattern_name.removeprefix("nnapi.")
    if name not in _LEVELS:
        raise ValueError(
            f"min_feature_level: no pattern {pattern_name!r}; "
            f"legal: {', '.join(f'nnapi.{known}' for known in sorted(_LEVELS))}"
        )
    return _LEVELS[name]


def partition_for_nnapi(mod: IRModule, feature_level: int | None = None) -> IRModule:
    """What the API computes up to a level in functions of their own, for its code generator."""
    level = _LATEST if feature_level is None else feature_level
    patterns: list[Any] = [
        pattern
        for pattern in get_patterns_with_prefix("nnapi")
        if min_feature_level(pattern.name) <= level
    ]
    passes: list[Any] = [
        transform.FuseOpsByPattern(patterns, bind_constants=False, annotate_codegen=False),
        transform.MergeCompositeFunctions(),
    ]
    return Sequential(passes)(mod)
