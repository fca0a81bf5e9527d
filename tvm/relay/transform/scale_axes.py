"""What both ways of folding scales ask: which axes a factor lies along, and its form there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant
from tvm.relay.ty import TensorType
from tvm.tir.expr import IntImm


class Message(NamedTuple):
    """A factor may be moved: along these axes, and only if it is above zero where that is asked."""

    axes: tuple[int, ...]
    positive: bool


CONVOLUTIONS: Final = ("nn.conv2d", "nn.conv3d")


def tensor_of(expr: RelaxExpr) -> TensorType:
    """The type of an operand that is a tensor."""
    found = expr.checked_type
    assert isinstance(found, TensorType), "the operator takes tensors"
    return found


def axes_fit(
    left: TensorType, right: TensorType, axes: Sequence[int], factor: Any = None
) -> tuple[bool, Any]:
    """Whether `right` varies along `axes` of `left` alone; and `factor` with just those axes."""
    if len(left.shape) < len(right.shape):
        return False, factor
    if not right.shape and factor is not None and axes:
        shape = [left.shape[axis] for axis in axes]
        return True, R.full(factor, shape, right.dtype)
    base, squeezed = len(left.shape) - len(right.shape), []
    for at, extent in enumerate(left.shape):
        if at in axes:
            if at < base or not structural_equal(extent, right.shape[at - base]):
                return False, factor
        elif at >= base:
            if not _is_one(right.shape[at - base]):
                return False, factor
            squeezed.append(at - base)
    if factor is not None and squeezed:
        factor = R.squeeze(factor, squeezed)
    return True, factor


def _is_one(extent: Any) -> bool:
    return isinstance(extent, IntImm) and int(extent.value) == 1


def is_positive(factor: RelaxExpr) -> bool:
    """True when a factor is a constant above zero everywhere."""
    while isinstance(factor, Call) and isinstance(factor.op, Op) and factor.op.name in _RESHAPES:
        factor = factor.args[0]
    return isinstance(factor, Constant) and bool(np.all(factor.data.numpy() > 0))


_RESHAPES: Final = ("squeeze", "expand_dims", "reshape", "transpose", "full")


def usable(factor: RelaxExpr, message: Message) -> bool:
    """True when a factor may be moved as the message allows."""
    return not message.positive or is_positive(factor)


def along(factor: Any, shape: Sequence[Any], axes: Sequence[int]) -> Any:
    """A factor in a form that stretches to a tensor of `shape` along `axes`."""
    if len(axes) > 1:
        wide = [shape[at] if at in axes else 1 for at in range(len(shape))]
        return R.reshape(factor, [int(getattr(extent, "value", extent)) for extent in wide])
    behind = len(shape) - 1 - axes[0]
    return R.expand_dims(factor, 1, behind) if behind > 0 else factor


def is_foldable(call: Call) -> bool:
    """True for convolutions over all channels or one each, in plain or in blocked layouts."""
    o: Any = call.attrs
    small = [letter in o.kernel_layout for letter in "oi"]
    small.append("c" in o.data_layout)
    return (int(o.groups) == 1 or is_depthwise(call)) and (all(small) or not any(small))


def is_depthwise(call: Call) -> bool:
    """True for a convolution with a filter for each channel."""
    o: Any = call.attrs
    if int(o.groups) == 1:
        return False
    shape = tensor_of(call.args[1]).concrete_shape
    inputs = shape[axis_of(o.kernel_layout, "I")]
    outputs = shape[axis_of(o.kernel_layout, "O")]
    if "i" in o.kernel_layout:
        inputs *= shape[axis_of(o.kernel_layout, "i")]
        outputs *= shape[axis_of(o.kernel_layout, "o")]
    return (inputs, outputs) in (
        (1, int(o.groups)),
        (int(o.groups), 1),
    )


def axis_of(layout: str, letter: str) -> int:
    """The index of an axis in a layout; -1 if it is not there."""
    return "".join(sign for sign in layout if not sign.isdigit()).find(letter)


def channel_axes(layout: str, big: str = "C", small: str = "c") -> tuple[int, ...]:
    """The axes of the channels; two in a blocked layout."""
    return tuple(at for at in (axis_of(layout, big), axis_of(layout, small)) if at >= 0)


def scaled_weight(call: Call, weight: Any, factor: Any, big: str, small: str) -> Any:
    """The weight of a convolution with a factor for each input or output channel."""
    o: Any = call.attrs
    axes = channel_axes(o.kernel_layout, big, small)
    return R.multiply(weight, along(factor, tensor_of(call.args[1]).shape, axes))
