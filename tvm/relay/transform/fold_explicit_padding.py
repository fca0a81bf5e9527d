"""Let convolutions and pooling pad by themselves.

    nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)
    ->
    nn.conv2d(%x, %w, padding=[1, 1, 1, 1])

The border must be what the operator pads with: zeros, the zero point of `qnn.conv2d`, or the
least value under `max_pool`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, Constant
from tvm.relay.op.nn.utils import all_sides

from .function_pass import expr_pass
from .rewrites import Rule, rewrite_calls


@expr_pass("FoldExplicitPadding", opt_level=0)
def FoldExplicitPadding(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function without borders that the next operator can make."""
    rules: dict[str, Rule] = {}
    for count in (1, 2, 3):
        rules[f"nn.conv{count}d"] = _into_convolution
        rules[f"nn.max_pool{count}d"] = _into_greatest
        rules[f"nn.avg_pool{count}d"] = _into_mean
    rules["nn.contrib_conv2d_NCHWc"] = _into_convolution
    rules["qnn.conv2d"] = _into_quantized
    return rewrite_calls(func, rules)


def _border(call: Call, layout: str) -> tuple[float, list[tuple[int, int]]] | None:
    """The value and the widths over the axes of space, if the operand is a plain border."""
    inner = call.args[0]
    if not (isinstance(inner, Call) and isinstance(inner.op, Op) and inner.op.name == "nn.pad"):
        return None
    value, attrs = inner.args[1], _attrs(inner)
    if not isinstance(value, Constant) or attrs.pad_mode != "constant":
        return None
    widths = [(int(low), int(high)) for low, high in attrs.pad_width]
    axes = re.sub("[0-9]", "", layout)  # of blocks (NCHW4c) the letters say which axis is which
    if len(widths) != len(axes):
        return None
    if any(w != (0, 0) for w, axis in zip(widths, axes) if axis not in "DHW"):
        return None
    space = [w for w, axis in zip(widths, axes) if axis in "DHW"]
    return float(value.data.numpy()), space


def _attrs(call: Call) -> Any:
    return call.attrs


def _padded(call: Call, widths: list[tuple[int, int]], **changes: Any) -> Call:
    attrs, inner = _attrs(call), call.args[0]
    assert isinstance(inner, Call), "the border was seen"
    sides = [low for low, _ in widths] + [high for _, high in widths]
    before = all_sides(attrs.padding, len(widths))
    total = tuple(old + new for old, new in zip(before, sides))
    made = attrs.replaced(padding=total, **changes)
    return Call(call.op, (inner.args[0], *call.args[1:]), made, call.type_args, call.span)


def _into_convolution(old: Call, new: Call) -> RelaxExpr:
    found = _border(new, _attrs(new).data_layout)
    return new if found is None or found[0] != 0 else _padded(new, found[1])


def _into_quantized(old: Call, new: Call) -> RelaxExpr:
    found, zero = _border(new, _attrs(new).data_layout), new.args[2]
    if found is None or not isinstance(zero, Constant) or zero.data.ndim:
        return new
    return _padded(new, found[1]) if found[0] == float(zero.data.numpy()) else new


def _into_greatest(old: Call, new: Call) -> RelaxExpr:
    found = _border(new, _attrs(new).layout)
    if found is None:
        return new
    dtype = np.dtype(str(old.checked_type.dtype))  # type: ignore[attr-defined]
    least = np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min
    return _padded(new, found[1]) if found[0] in (float(least), -np.inf) else new


def _into_mean(old: Call, new: Call) -> RelaxExpr:
    """The border counts in the mean; so must the padding, and so must what was there before."""
    found, attrs = _border(new, _attrs(new).layout), _attrs(new)
    if found is None or found[0] != 0 or (any(attrs.padding) and not attrs.count_include_pad):
        return new
    return _padded(new, found[1], count_include_pad=True)
