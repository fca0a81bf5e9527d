"""Quantized calls in a form that a target has quick instructions for.

Targets without products of 8-bit numbers take 16-bit ones; others want the two operands in
certain types of 8 bits, for which the numbers and their zero points move by 128.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.relay import op as R
from tvm.relay.expr import Call, const
from tvm.target.target import Target

from .arithmetic import constant_of
from .canonicalizations import create_integer_lookup_op
from .op import register_qnn_legalize
from .products import difference

Types = Sequence[Any]


def register_qnn_unary_op_legalize(op_name: str, floating_point_func: Callable[..., Any]) -> Any:
    """A table instead of a function of 8-bit numbers whose scales are known."""

    def legalize_qnn_unary_op(attrs: Any, inputs: Sequence[Any], types: Types) -> Any:
        dtype = str(types[0].dtype)
        if dtype not in ("int8", "uint8") or any(constant_of(i) is None for i in inputs[1:]):
            return None
        x, in_scale, in_zero, out_scale, out_zero = inputs
        return create_integer_lookup_op(
            x, floating_point_func, in_scale, in_zero, out_scale, out_zero, in_dtype=dtype,
            out_dtype=dtype,
        )  # fmt: skip

    return register_qnn_legalize(op_name, legalize_qnn_unary_op)


def hardswish_func(x: Any) -> Any:
    """x * clip(x + 3, 0, 6) / 6."""
    return x * np.clip(x + 3, 0, 6) / 6


def _erf(x: Any) -> Any:
    import math

    return np.vectorize(math.erf, otypes=["float32"])(x)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh, "erf": _erf, "exp": np.exp, "sqrt": np.sqrt, "log": np.log,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x),
    "hardswish": hardswish_func, "abs": np.abs,
}  # fmt: skip
for _name, _func in _FUNCTIONS.items():
    register_qnn_unary_op_legalize(f"qnn.{_name}", _func)


def get_scalar_from_constant(expr: Any) -> Any:
    """The number of a constant scalar."""
    known = constant_of(expr)
    if known is None or known.size != 1:
        raise ValueError(f"{expr} is not a constant scalar")
    return known.reshape(-1)[0].item()


def helper_no_fast_int8_hw_legalization(
    attrs: Any, inputs: Sequence[Any], types: Types, relay_op: Callable[..., Any]
) -> Any:
    """Differences to the zero points in 16 bits, and the plain operator on those."""
    data = difference(inputs[0], inputs[2], types[2], -1, len(types[0].shape), "int16")
    layout = getattr(attrs, "kernel_layout", None)
    letters = "" if layout is None else "".join(s for s in layout if s.isalpha())
    axis = letters.index("O") if letters else 0
    kernel = difference(inputs[1], inputs[3], types[3], axis, len(types[1].shape), "int16")
    return relay_op(data, kernel, **dict(attrs.items()))


def _moved(x: Any, zero: Any, to: str) -> tuple[Any, Any]:
    """An 8-bit operand in the other type of 8 bits: numbers and zero point move by 128."""
    step = const(128 if to == "uint8" else -128, "int32")
    return R.cast(R.add(R.cast(x, "int32"), step), to), R.add(zero, step)


def _in_types(
    attrs: Any, inputs: Sequence[Any], types: Types, relay_op: Callable[..., Any],
    wanted: tuple[str, str],
) -> Any:  # fmt: skip
    found = (str(types[0].dtype), str(types[1].dtype))
    if found == wanted or not all(dtype in ("int8", "uint8") for dtype in found):
        return None
    operands = list(inputs)
    for at in (0, 1):
        if found[at] != wanted[at]:
            operands[at], operands[at + 2] = _moved(inputs[at], inputs[at + 2], wanted[at])
    return relay_op(*operands, **dict(attrs.items()))


def helper_change_dtypes_to_uint8_int8(
    attrs: Any, inputs: Sequence[Any], types: Types, relay_op: Callable[..., Any]
) -> Any:
    """Data without a sign and weights with one, as Intel's VNNI takes them."""
    return _in_types(attrs, inputs, types, relay_op, ("uint8", "int8"))


def helper_change_dtypes_to_int8(
    attrs: Any, inputs: Sequence[Any], types: Types, relay_op: Callable[..., Any]
) -> Any:
    """Both operands with a sign."""
    return _in_types(attrs, inputs, types, relay_op, ("int8", "int8"))


def helper_change_dtypes_to_uint8(
    attrs: Any, inputs: Sequence[Any], types: Types, relay_op: Callable[..., Any]
) -> Any:
    """Both operands without a sign."""
    return _in_types(attrs, inputs, types, relay_op, ("uint8", "uint8"))


def helper_change_dtypes_to_be_same(
    attrs: Any, inputs: Sequence[Any], types: Types, relay_op: Callable[..., Any]
) -> Any:
    """Both operands in the type of the weight, as ARM's dot products take them."""
    dtype = str(types[1].dtype)
    return _in_types(attrs, inputs, types, relay_op, (dtype, dtype))


def is_fast_int8_on_intel() -> bool:
    """Whether the target multiplies 8-bit numbers of x86 quickly."""
    target = Target.current(allow_none=True)
    mcpu = "" if target is None else str(target.attrs.get("mcpu", ""))
    return mcpu in (
        "skylake-avx512", "cascadelake", "cooperlake", "icelake-client", "icelake-server",
        "rocketlake", "tigerlake", "sapphirerapids", "alderlake",
    )  # fmt: skip


def helper_align_up(value: int, aligner: int) -> int:
    """The next multiple."""
    return -(-value // aligner) * aligner


def _by_target(inputs: Sequence[Any], attrs: Any, types: Types, relay_op: Any, plain: Any) -> Any:
    target = Target.current(allow_none=True)
    keys = [] if target is None else [str(key) for key in target.keys]
    if "arm_cpu" in keys:
        features = str(target.attrs.get("mattr", ""))  # type: ignore[union-attr]
        if "+dotprod" in features or "+v8.2a" in features:
            return helper_change_dtypes_to_be_same(attrs, inputs, types, relay_op)
        return helper_no_fast_int8_hw_legalization(attrs, inputs, types, plain)
    if "cuda" in keys or "gpu" in keys:
        return helper_change_dtypes_to_int8(attrs, inputs, types, relay_op)
    if "cpu" in keys and is_fast_int8_on_intel():
        return helper_change_dtypes_to_uint8_int8(attrs, inputs, types, relay_op)
    if "cpu" in keys:
        return helper_no_fast_int8_hw_legalization(attrs, inputs, types, plain)
    return None


def qnn_conv2d_legalize(attrs: Any, inputs: Sequence[Any], types: Types) -> Any:
    """A convolution as the current target likes it; None leaves it alone."""
    from tvm.relay.op import nn

    from .qnn import conv2d

    return _by_target(inputs, attrs, types, conv2d, nn.conv2d)


def qnn_conv2d_transpose_legalize(attrs: Any, inputs: Sequence[Any], types: Types) -> Any:
    """The transpose of a convolution in 16 bits."""
    from tvm.relay.op import nn

    return helper_no_fast_int8_hw_legalization(attrs, inputs, types, nn.conv2d_transpose)


def qnn_dense_legalize(attrs: Any, inputs: Sequence[Any], types: Types) -> Any:
    """A product of matrices as the current target likes it; None leaves it alone."""
    from tvm.relay.op import nn

    from .qnn import dense

    return _by_target(inputs, attrs, types, dense, nn.dense)


def legalize_qnn_conv2d(attrs: Any, inputs: Sequence[Any], types: Types) -> Call | None:
    """The rule of `qnn.conv2d`."""
    made: Call | None = qnn_conv2d_legalize(attrs, inputs, types)
    return made


def legalize_qnn_conv2d_transpose(attrs: Any, inputs: Sequence[Any], types: Types) -> Call | None:
    """The rule of `qnn.conv2d_transpose`."""
    made: Call | None = qnn_conv2d_transpose_legalize(attrs, inputs, types)
    return made


def legalize_qnn_dense(attrs: Any, inputs: Sequence[Any], types: Types) -> Call | None:
    """The rule of `qnn.dense`."""
    made: Call | None = qnn_dense_legalize(attrs, inputs, types)
    return made


register_qnn_legalize("qnn.conv2d", legalize_qnn_conv2d)
register_qnn_legalize("qnn.conv2d_transpose", legalize_qnn_conv2d_transpose)
register_qnn_legalize("qnn.dense", legalize_qnn_dense)
