"""Integers instead of the marks: data, and the scale that says which numbers they stand for.

    nn.conv2d(simulated_quantize(%x, ...), simulated_quantize(%w, ...))
    ->
    multiply(cast(nn.conv2d(cast(%xq, "int8"), cast(%wq, "int8"), out_dtype="int32"), "float32"),
             %scale_x * %scale_w)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op, register_op_attr
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant, TempExpr, Tuple, const
from tvm.relay.qnn.op.arithmetic import multiplier_and_shift, times

from ._annotate import simulated_quantize
from ._partition import Args, Decorator, Rule, forward_op
from .config import QAnnotateKind, current_qconfig


class QRealizeIntExpr(TempExpr):
    """Integers `data` (of the type `dtype`) that stand for `data * dom_scale`."""

    __slots__ = ("data", "dom_scale", "dtype")

    def __init__(self, data: RelaxExpr, dom_scale: float, dtype: str) -> None:
        self._begin(None)
        self.data = data
        self.dom_scale = dom_scale
        self.dtype = dtype

    def realize(self) -> RelaxExpr:
        data = self.data if self.dtype == "float32" else R.cast(self.data, "float32")
        return R.multiply(data, const(self.dom_scale, "float32"))  # type: ignore[no-any-return]

    def cast(self, dtype: str) -> RelaxExpr:
        """The integers in another type."""
        return self.data if self.dtype == dtype else R.cast(self.data, dtype)


def register_realize_function(op_name: str, frewrite: Rule | None = None) -> Decorator:
    """Set the rule `f(ref_call, new_args, ctx)` of an operator for integers."""
    return cast("Decorator", register_op_attr(op_name, "FQRealizeRewrite", frewrite))


def _ints(args: Args) -> list[QRealizeIntExpr]:
    for arg in args:
        if not isinstance(arg, QRealizeIntExpr):
            raise TVMError(f"quantize: some operands of a call are integers, others are not: {arg}")
    return list(args)  # type: ignore[arg-type]


def _is_plain(*args: RelaxExpr) -> bool:
    return not any(isinstance(arg, TempExpr) for arg in args)


def _number(value: RelaxExpr) -> float:
    if not isinstance(value, Constant):
        raise TVMError("quantize: a scale is open; legal: after relay.quantize's calibration")
    return float(value.data.numpy())


@register_realize_function("relay.op.annotation.simulated_quantize")
def quantize_realize(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr:
    """Numbers become integers by division; integers change their scale."""
    scale, low, high = (_number(arg) for arg in new_args[1:])
    data = new_args[0]
    if isinstance(data, QRealizeIntExpr):
        return _rescaled(data, scale, low, high, ref_call)
    real = R.multiply(data, const(1 / scale, "float32"))
    return QRealizeIntExpr(R.clip(R.round(real), low, high), scale, "float32")


def _rescaled(
    x: QRealizeIntExpr, scale: float, low: float, high: float, like: RelaxExpr
) -> QRealizeIntExpr:
    if x.dom_scale == scale:
        return QRealizeIntExpr(R.clip(x.data, low, high), scale, x.dtype)
    shift = math.log2(scale / x.dom_scale)
    if shift == int(shift):
        moved = _shifted(x.data, -int(shift), current_qconfig().dtype_activation)
        return QRealizeIntExpr(R.clip(moved, low, high), scale, x.dtype)
    moved = _multiplied(R.cast(x.data, "int64"), x.dom_scale / scale, like)
    return QRealizeIntExpr(R.cast(R.clip(moved, low, high), x.dtype), scale, x.dtype)


def _shifted(data: RelaxExpr, by: int, dtype: str) -> RelaxExpr:
    """`data` times two to a power; halves are rounded up where the current choices say so."""
    if by > 0:
        return R.left_shift(data, const(by, dtype))  # type: ignore[no-any-return]
    if current_qconfig().round_for_shift:
        data = R.add(data, const(2 ** (-by - 1), dtype))
    return R.right_shift(data, const(-by, dtype))  # type: ignore[no-any-return]


def _multiplied(data: RelaxExpr, factor: float, like: RelaxExpr) -> RelaxExpr:
    """`data`, of the shape of `like`, times a number as float32 knows it, in 31 bits' fixed point.

    Rounded upwards the type stays; rounded to the nearest the result has 32 bits.
    """
    known = float(np.float32(factor))
    if current_qconfig().rounding == "UPWARD":
        return R.fixed_point_multiply(  # type: ignore[no-any-return]
            data, *multiplier_and_shift(known)
        )
    found = like.checked_type
    wide = R.cast(data, "int64")
    return R.cast(  # type: ignore[no-any-return]
        times(wide, [known], -1, found, "TONEAREST"), "int32"
    )


def _product(weight_dtype: Callable[[], str]) -> Callable[[Call, Args, Any], RelaxExpr | None]:
    def rule(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
        x, w = new_args
        if not (isinstance(x, QRealizeIntExpr) and isinstance(w, QRealizeIntExpr)):
            return None  # a layer that was skipped: computed in numbers, whatever comes before it
        cfg = current_qconfig()
        attrs: Any = ref_call.attrs
        wide = attrs.replaced(out_dtype=cfg.dtype_activation)
        data, weight = x.cast(cfg.dtype_input), w.cast(weight_dtype())
        made = Call(ref_call.op, [data, weight], wide, None, ref_call.span)
        scale = float(np.float32(x.dom_scale) * np.float32(w.dom_scale))
        return QRealizeIntExpr(made, scale, cfg.dtype_activation)

    return rule


for _name in ("nn.conv1d", "nn.conv2d", "nn.contrib_conv2d_NCHWc", "nn.dense"):
    if _name in Op.list_op_names():
        register_realize_function(_name, _product(lambda: current_qconfig().dtype_weight))
register_realize_function("nn.batch_matmul", _product(lambda: current_qconfig().dtype_input))


@register_realize_function("multiply")
def mul_realize(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Integers times integers, in the wide type."""
    if _is_plain(*new_args):
        return None
    wide = current_qconfig().dtype_activation
    x, y = _ints(new_args)
    made = forward_op(ref_call, [x.cast(wide), y.cast(wide)])
    return QRealizeIntExpr(made, float(np.float32(x.dom_scale) * np.float32(y.dom_scale)), wide)


@register_realize_function("add")
def add_realize(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Sums of integers that were brought to one scale, in the wide type."""
    if _is_plain(*new_args):
        return None
    wide = str(current_qconfig().dtype_activation)
    fields, dtype, scale = _unified(ref_call.args, _ints(new_args), wide)
    return QRealizeIntExpr(forward_op(ref_call, fields), scale, dtype)


@register_realize_function("concatenate")
def concatenate_realize(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Integers of one scale behind each other."""
    whole, before = new_args[0], ref_call.args[0]
    assert isinstance(whole, Tuple) and isinstance(before, Tuple), "fields are joined one by one"
    if _is_plain(*whole.fields):
        return None
    values, cfg = _ints(whole.fields), current_qconfig()
    narrow = len(values) == 2 and values[1].dtype == cfg.dtype_input
    wanted = str(cfg.dtype_input if narrow else cfg.dtype_activation)
    fields, dtype, scale = _unified(before.fields, values, wanted)
    return QRealizeIntExpr(forward_op(ref_call, [Tuple(fields)]), scale, dtype)


# Of a step of the coarser of two tensors: integers of 8 bits by finer ones do not fit into 32.
_FINEST: Final = 2.0**-24


def _unified(
    before: Args, values: Sequence[QRealizeIntExpr], dtype: str
) -> tuple[list[RelaxExpr], str, float]:
    """Integers in one type and of one scale."""
    cfg = current_qconfig()
    if len(values) == 2:
        scales = [value.dom_scale for value in values]
        scale = max(min(scales), max(scales) * _FINEST)
    else:
        scale = cfg.global_scale / 2 ** (cfg.nbit_activation - 1)
    made: list[RelaxExpr] = []
    for old, value in zip(before, values):
        data = value.cast(dtype)
        if len(values) != 2 or not _is_input(old):
            pass
        elif value.dtype != dtype:
            data = R.annotation.stop_fusion(data)
        else:  # stored narrow on the way
            stored = R.annotation.stop_fusion(R.cast(data, cfg.dtype_input))
            data = R.cast(stored, dtype)
        made.append(_to_scale(data, value.dom_scale / scale, dtype, old))
    return made, dtype, scale


def _is_input(expr: RelaxExpr) -> bool:
    if not isinstance(expr, Call) or expr.op is not simulated_quantize.op:
        return False
    attrs: Any = expr.attrs
    return bool(attrs.kind == QAnnotateKind.INPUT)


def _to_scale(data: RelaxExpr, factor: float, dtype: str, like: RelaxExpr) -> RelaxExpr:
    if factor == 1:
        return data
    shift = math.log2(factor)
    if shift == int(shift):
        return _shifted(data, int(shift), dtype)
    if factor == int(factor):
        return R.multiply(data, const(int(factor), dtype))  # type: ignore[no-any-return]
    return R.cast(_multiplied(data, factor, like), dtype)  # type: ignore[no-any-return]


def _unary(dtype_of: Callable[[QRealizeIntExpr], str]) -> Any:
    """A rule for operators that only move or choose; the operand comes in a type first."""

    def rule(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
        x = new_args[0]
        if not isinstance(x, QRealizeIntExpr):
            return None
        dtype = dtype_of(x)
        return QRealizeIntExpr(forward_op(ref_call, [x.cast(dtype)]), x.dom_scale, dtype)

    return rule


_RULES: Final[dict[str, Any]] = {
    **dict.fromkeys(
        ("nn.relu", "strided_slice", "nn.batch_flatten", "transpose", "annotation.stop_fusion",
         "reshape", "expand_dims"),
        _unary(lambda x: x.dtype),
    ),
    **dict.fromkeys(
        ("nn.max_pool1d", "nn.max_pool2d"), _unary(lambda x: current_qconfig().dtype_input)
    ),
    **dict.fromkeys(
        ("nn.avg_pool2d", "nn.global_avg_pool2d"),
        _unary(lambda x: current_qconfig().dtype_activation),
    ),
}  # fmt: skip
for _name, _rule in _RULES.items():
    register_realize_function(_name, _rule)


@register_realize_function("clip")
def clip_realize(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """The bounds count in steps of the scale."""
    x = new_args[0]
    if not isinstance(x, QRealizeIntExpr):
        return None
    attrs: Any = ref_call.attrs
    made = R.clip(x.data, attrs.a_min / x.dom_scale, attrs.a_max / x.dom_scale)
    return QRealizeIntExpr(made, x.dom_scale, x.dtype)


@register_realize_function("annotation.cast_hint")
def cast_hint_realize(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """The integers in the type that they may be kept in."""
    x = new_args[0]
    if not isinstance(x, QRealizeIntExpr):
        return None
    attrs: Any = ref_call.attrs
    return QRealizeIntExpr(R.cast(x.data, str(attrs.dtype)), x.dom_scale, str(attrs.dtype))
