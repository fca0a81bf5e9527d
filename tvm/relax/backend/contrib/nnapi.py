"""Operators that Android's neural networks API takes over, by its feature levels.

The levels are those of the NDK's reference of ANEURALNETWORKS_*: level 1 came with Android 8.1.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relax import transform
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.dpl.pattern import DFPattern, is_op, wildcard

Entry: TypeAlias = tuple[str, DFPattern]

# operators of Relax, and what the API calls them
_BINARY: Final = {
    "add": "add", "multiply": "mul", "divide": "div", "subtract": "sub", "power": "pow",
    "equal": "equal", "greater": "greater", "greater_equal": "greater_equal", "less": "less",
    "less_equal": "less_equal", "not_equal": "not_equal", "maximum": "maximum",
    "minimum": "minimum",
}  # fmt: skip
_UNARY: Final = {
    "floor": "floor", "nn.relu": "relu", "sigmoid": "logistic", "nn.softmax": "softmax",
    "tanh": "tanh", "abs": "abs", "exp": "exp", "log": "log", "negative": "neg",
    "astype": "cast", "sqrt": "sqrt", "rsqrt": "rsqrt",
}  # fmt: skip
_LEVELS: Final[dict[str, int]] = {
    "add": 1, "mul": 1, "floor": 1, "relu": 1, "softmax": 1, "logistic": 1, "tanh": 1,
    "conv2d": 1, "max_pool_2d": 1, "cast": 3, "div": 2, "sub": 2, "mean": 2, "transpose": 2,
    "maximum": 3, "minimum": 3, "exp": 3, "log": 3, "sqrt": 3, "rsqrt": 3, "abs": 3, "neg": 3,
    "equal": 3, "greater": 3, "greater_equal": 3, "less": 3, "less_equal": 3, "not_equal": 3,
    "pow": 3, "batch_matmul": 6,
}  # fmt: skip
_LATEST: Final = max(_LEVELS.values())


def _named(name: str, op: str, operands: int) -> Entry:
    return f"nnapi.{name}", is_op(f"relax.{op}")(*(wildcard() for _ in range(operands)))


def elementwise_binary_patterns() -> list[Entry]:
    """Operators of two tensors, element by element."""
    return [_named(name, op, 2) for op, name in _BINARY.items()]


def unary_patterns() -> list[Entry]:
    """Operators of one tensor."""
    return [_named(name, op, 1) for op, name in _UNARY.items()]


def matmul_pattern() -> Entry:
    """Products of matrices."""
    return _named("batch_matmul", "matmul", 2)


def permute_dims_pattern() -> Entry:
    """Transpositions."""
    return _named("transpose", "permute_dims", 1)


def astype_pattern() -> Entry:
    """Casts of floating point numbers of either width."""
    half, single = (
        is_op("relax.astype")(wildcard().has_dtype(kind)) for kind in ("float16", "float32")
    )
    return "nnapi.cast", half | single


def mean_pattern() -> Entry:
    """Means."""
    return _named("mean", "mean", 1)


def conv2d_pattern() -> Entry:
    """Convolutions with a bias along the channels."""
    out = is_op("relax.add")(is_op("relax.nn.conv2d")(wildcard(), wildcard()), wildcard())
    return "nnapi.conv2d", out


def max_pool2d_pattern() -> Entry:
    """Maxima over windows."""
    return _named("max_pool_2d", "nn.max_pool2d", 1)


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
