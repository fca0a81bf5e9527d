"""Operators by name, and the rules that users hang on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir.op import OPS, Op, register_op_attr

from . import declare


def get(op_name: str) -> Op:
    """The operator called `op_name`."""
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> Op:
    """A new operator, without any rule yet."""
    return OPS.register(op_name, Op(op_name, describe), depth=2)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Say whether calls of an operator have effects."""
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


class OpPattern:
    """How an operator may be fused with its neighbours."""

    ELEMWISE = declare.ELEMWISE
    BROADCAST = declare.BROADCAST
    INJECTIVE = declare.INJECTIVE
    COMM_REDUCE = declare.COMM_REDUCE
    OUT_ELEMWISE_FUSABLE = declare.OUT_FUSABLE
    TUPLE = declare.TUPLE
    OPAQUE = declare.OPAQUE


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, tinfos, out_type)` that gives a call another layout."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, tinfos, desired_layouts)` for a wanted layout."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(
    op_name: str, infer_layout: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(attrs, new_in_layouts, old_in_layouts, old_in_types)` about layouts.

    It gives a `relay.transform.infer_layout_utils.InferCorrectLayoutOutput`.
    """
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, types)` that writes a call in other operators."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Set how an operator may be fused."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_gradient(
    op_name: str, fgradient: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(orig, grad)` for the gradients of the operands."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_mixed_precision_conversion(
    op_name: str, func: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(call, dtype)` that says what mixed precision does with an operator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_fake_quantization_to_integer(
    op_name: str, func: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(expr, type_map)` that computes an operator on quantized integers."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(
    op_name: str, func: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """As `register_fake_quantization_to_integer`, for operators that are asked for by name."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


def register_external_compiler(
    op_name: str, fexternal: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule that hands an operator to an outside compiler."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)
