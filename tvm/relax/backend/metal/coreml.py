"""Operators that Apple's Core ML takes over."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from tvm.error import TVMError, message
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relax import transform
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.dpl.pattern import DFPattern, is_op, wildcard
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext

Entry: TypeAlias = tuple[
    str, DFPattern, Mapping[str, DFPattern], Callable[[PatternCheckContext], bool]
]

_BINARY: Final = ("add", "multiply")
_UNARY: Final = ("nn.softmax", "nn.relu", "expand_dims", "nn.avg_pool2d")


def _check_default(context: PatternCheckContext) -> bool:
    """Core ML takes every match."""
    return True


def _pattern(op_name: str, *parts: str) -> Entry:
    held = {part: wildcard() for part in parts}
    out = is_op(f"relax.{op_name}")(*held.values())
    return f"coreml.{op_name}", out, {**held, "root": out}, _check_default


def default_binary_patterns(op_name: str) -> list[Entry]:
    """An operator of two tensors, "lhs" and "rhs"."""
    return [_pattern(op_name, "lhs", "rhs")]


def default_unary_patterns(op_name: str) -> list[Entry]:
    """An operator of one tensor, "lhs"."""
    return [_pattern(op_name, "lhs")]


def conv2d_patterns() -> list[Entry]:
    """Convolutions."""
    return [_pattern("nn.conv2d", "lhs", "rhs")]


def matmul_patterns() -> list[Entry]:
    """Products of matrices."""
    return [_pattern("matmul", "lhs", "rhs")]


def clip_patterns() -> list[Entry]:
    """Bounds, with the tensor and its two limits."""
    return [_pattern("clip", "arg0", "arg1", "arg2")]


register_patterns(
    [
        *[entry for op in _BINARY for entry in default_binary_patterns(op)],
        *[entry for op in _UNARY for entry in default_unary_patterns(op)],
        *conv2d_patterns(), *clip_patterns(), *matmul_patterns(),
    ]
)  # fmt: skip


def partition_for_coreml(mod: IRModule) -> IRModule:
    """What Core ML computes in functions of their own, for its code generator."""
    patterns = get_patterns_with_prefix("coreml")
    passes: list[Any] = [
        transform.FuseOpsByPattern(patterns, bind_constants=True, annotate_codegen=False),
        transform.MergeCompositeFunctions(),
    ]
    return Sequential(passes)(mod)


def coreml_compiler(
    funcs: Sequence[Any], options: Mapping[str, Any], constant_names: Mapping[Any, str]
) -> NoReturn:
    """Refuse to compile, naming what Core ML's compiler needs and is not there."""
    needed = {
        "the Python package coremltools": importlib.util.find_spec("coremltools") is not None,
        "the command xcrun of Xcode": shutil.which("xcrun") is not None,
        "a run time for Core ML in this library": False,
    }
    raise TVMError(
        message(
            "relax.ext.coreml: functions cannot be compiled for Core ML here",
            found="missing: " + "; ".join(name for name, there in needed.items() if not there),
            legal="build the module without partition_for_coreml, for a target such as metal",
        )
    )
