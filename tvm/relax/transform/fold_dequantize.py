"""Products and convolutions of dequantised numbers become those of integers, scaled afterwards.

    a = (astype(x, f32) - zx) * sx                 n = matmul(x - zx, w - zw)         # in 32 bits
    b = (astype(w, f32) - zw) * sw          ->     y = astype(n, f32) * (sx * sw)
    y = matmul(a, b)

Sums of integers are exact, so results come closer to the exact ones than those of floats did. It
takes scales that do not change along the sum, and sums that fit into 32 bits. Transposed operands
are followed. Weights of convolutions are constants, numbers of channels are known.

    round(x / s)  ->  round(x * (1 / s))

where a scale is a constant and integers follow: a number halfway between two may go to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Var, is_call_of
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls
from tvm.tir.expr import IntImm

LARGEST_SUM: Final = (1 << 31) // (255 * 255)  # products of 8-bit numbers less a zero point
ROW_WORK: Final = 64  # products along a row for each number that moves: fewer do not pay for it
_DEPTH: Final = 8  # operators between a product and its integers that are looked through


class Scaled(NamedTuple):
    """A tensor of numbers `integers` * `scale`; the scale is a scalar or of as many dimensions."""

    integers: RelaxExpr
    scale: RelaxExpr


@relax_pass("FoldDequantize")
def FoldDequantize(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Rewrite the products of a function whose operands are both dequantised."""
    rules = _Rules({binding.var: binding.value for binding in all_bindings(func)})
    bb = BlockBuilder(mod)
    new = rewrite_calls(func, {
        "relax.matmul": rules.matmul, "relax.nn.conv1d": rules.convolution,
        "relax.nn.conv2d": rules.convolution, "relax.round": rules.round,
    }, bb)  # fmt: skip
    return func if new is func else remove_unused_bindings(new)


def info_of(expr: RelaxExpr) -> TensorStructInfo | None:
    """What is known of a tensor; None if it is something else."""
    return expr.struct_info if isinstance(expr.struct_info, TensorStructInfo) else None


def sizes_of(expr: RelaxExpr) -> list[int | None]:
    """The extents of a tensor, None for symbolic ones; nothing if its rank is unknown."""
    info = info_of(expr)
    values = None if info is None else info.values
    return [] if values is None else [d.value if isinstance(d, IntImm) else None for d in values]


def pays_along_a_row(kernel: Sequence[int | None]) -> bool:
    """Whether sums of a window (filters, channels, taps) take longer than moving channels last."""
    filters, channels, taps = (size or 0 for size in kernel)
    return filters * channels * taps >= ROW_WORK * (channels + filters)


class _Rules:
    def __init__(self, known: dict[Var, RelaxExpr]) -> None:
        self._known = known

    def _value(self, expr: RelaxExpr) -> RelaxExpr:
        while isinstance(expr, Var) and expr in self._known:
            expr = self._known[expr]
        return expr

    def matmul(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        """A product whose operands both are dequantised."""
        a, b = (self._scaled(bb, arg, _DEPTH) for arg in call.args)
        if a is None or b is None or str(call.attrs.out_dtype) not in ("void", "", "float32"):  # type: ignore[union-attr]
            return call
        left, right = sizes_of(a.integers), sizes_of(b.integers)
        if len(left) < 2 or len(right) < 2 or left[-2] == 1 or not _fits(left[-1]):
            return call  # one row has no form of its own for bytes
        rows, columns = sizes_of(a.scale), sizes_of(b.scale)
        if (rows and rows[-1] != 1) or (columns and columns[-2] != 1):
            return call
        product = bb.emit(op.matmul(a.integers, b.integers))
        return _rescaled(bb, product, a.scale, b.scale)

    def convolution(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        """A convolution of dequantised numbers by constants, each channel with its own scale."""
        attrs: Any = call.attrs
        data, weight = call.args
        image, kernel = sizes_of(data), sizes_of(weight)
        row = is_call_of(call, "relax.nn.conv1d")
        plain = ("NCW", "OIW", "NCW") if row else ("NCHW", "OIHW", "NCHW")
        if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout) != plain:
            return call
        if len(image) != len(plain[0]) or image[1] is None or None in kernel:
            return call
        if not self._is_constant(weight, _DEPTH):
            return call
        groups, terms = int(attrs.groups), math.prod(size or 0 for size in kernel[1:])
        if row and (groups > 1 or not pays_along_a_row(kernel)):
            return call
        if groups not in (1, image[1]) or (groups > 1 and kernel[0] != groups) or not _fits(terms):
            return call
        a, b = (self._scaled(bb, arg, _DEPTH) for arg in call.args)
        if a is None or b is None or str(attrs.out_dtype) not in ("void", "", "float32"):
            return call
        if any(size != 1 for size in (*sizes_of(a.scale), *sizes_of(b.scale)[1:])):
            return call
        scale = b.scale
        if sizes_of(scale):
            scale = bb.emit(op.permute_dims(scale, [1, 0, *range(2, len(kernel))]))
        made = op.nn.conv1d if row else op.nn.conv2d
        sums = bb.emit(made(
            a.integers, b.integers, attrs.strides, attrs.padding, attrs.dilation, groups,
            out_dtype="int32",
        ))  # fmt: skip
        return _rescaled(bb, sums, a.scale, scale)

    def round(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        """A quotient by a constant scale, which is multiplied by what it is one over."""
        value = self._value(call.args[0])
        if not is_call_of(value, "relax.divide"):
            return call
        scale = self._value(value.args[1])
        if is_call_of(scale, "relax.astype") and _is_float(scale):
            scale = self._value(scale.args[0])
        if not isinstance(scale, Constant) or str(scale.data.dtype) != "float32":
            return call
        with np.errstate(divide="ignore", over="ignore"):
            factor = np.float32(1) / scale.data.numpy()
        if not (np.isfinite(factor) & (np.abs(factor) >= np.finfo("float32").tiny)).all():
            return call
        return op.round(bb.emit(op.multiply(value.args[0], Constant(factor))))

    def _is_constant(self, expr: RelaxExpr, depth: int) -> bool:
        """Whether a value is computed from constants."""
        value = self._value(expr)
        if isinstance(value, (Constant, ShapeExpr)):
            return True
        return (
            depth > 0 and isinstance(value, Call)
            and all(self._is_constant(arg, depth - 1) for arg in value.args)
        )  # fmt: skip

    def _scaled(self, bb: BlockBuilder, expr: RelaxExpr, depth: int) -> Scaled | None:
        """The integers and the scale behind an operand; what is emitted for others is unused."""
        value = self._value(expr)
        if depth == 0 or not isinstance(value, Call):
            return None
        if is_call_of(value, "relax.multiply"):
            for numbers, scale in (value.args, value.args[::-1]):
                whole = self._whole(numbers)
                if whole is not None and _of_same_rank(scale, whole) and _keeps(value, whole):
                    return Scaled(whole, scale)
            return None
        if is_call_of(value, "relax.permute_dims"):
            inner = self._scaled(bb, value.args[0], depth - 1)
            if inner is None:
                return None
            axes = value.attrs.axes  # type: ignore[union-attr]
            order: Sequence[int] | None = None if axes is None else [int(a) for a in axes]
            scale = inner.scale
            if sizes_of(scale):
                scale = bb.emit(op.permute_dims(scale, order))
            return Scaled(bb.emit(op.permute_dims(inner.integers, order)), scale)
        if is_call_of(value, "relax.reshape"):
            inner = self._scaled(bb, value.args[0], depth - 1)
            if inner is None or sizes_of(inner.scale):
                return None
            return Scaled(bb.emit(op.reshape(inner.integers, value.args[1])), inner.scale)
        return None

    def _whole(self, expr: RelaxExpr) -> RelaxExpr | None:
        """The integers of 32 bits that an operand is, seen as floats."""
        value = self._value(expr)
        if not is_call_of(value, "relax.astype"):
            return None
        inner, info = value.args[0], info_of(value.args[0])
        if info is None or str(info.dtype) != "int32" or not self._is_small(inner):
            return None
        out = info_of(value)
        return inner if out is not None and str(out.dtype) == "float32" else None

    def _is_small(self, expr: RelaxExpr) -> bool:
        """Whether numbers are of 8 bits, perhaps less a zero point of 8 bits."""
        value = self._value(expr)
        if is_call_of(value, "relax.subtract"):
            return all(self._is_byte(arg) for arg in value.args)
        return self._is_byte(expr)

    def _is_byte(self, expr: RelaxExpr) -> bool:
        value = self._value(expr)
        known = self._known_integers(value, _DEPTH)
        if known is not None and known.size:
            return bool(known.min() >= -128 and known.max() <= 255)
        if not is_call_of(value, "relax.astype"):
            return False
        info = info_of(value.args[0])
        return info is not None and str(info.dtype) in ("int8", "uint8")

    def _known_integers(self, expr: RelaxExpr, depth: int) -> NDArray[Any] | None:
        """The values of a constant, perhaps of another type or shape since."""
        value = self._value(expr)
        if isinstance(value, Constant):
            array: NDArray[Any] = value.data.numpy()
            return array if array.dtype.kind in "iu" else None
        if not isinstance(value, Call) or depth == 0:
            return None
        moves = is_call_of(value, "relax.astype") or is_call_of(value, "relax.reshape")
        return self._known_integers(value.args[0], depth - 1) if moves else None


def _is_float(expr: RelaxExpr) -> bool:
    info = info_of(expr)
    return info is not None and str(info.dtype) == "float32"


def _fits(terms: int | None) -> bool:
    return terms is not None and terms <= LARGEST_SUM


def _of_same_rank(scale: RelaxExpr, whole: RelaxExpr) -> bool:
    rank, info = len(sizes_of(whole)), info_of(scale)
    return info is not None and info.ndim in (0, rank) and str(info.dtype) == "float32"


def _keeps(value: Call, whole: RelaxExpr) -> bool:
    """Whether scaling leaves the shape as it is."""
    return sizes_of(value) == sizes_of(whole)


def _rescaled(
    bb: BlockBuilder, product: RelaxExpr, a: RelaxExpr, b: RelaxExpr
) -> RelaxExpr:
    scale = bb.emit(op.multiply(a, b))
    return op.multiply(bb.emit(op.astype(product, "float32")), scale)
