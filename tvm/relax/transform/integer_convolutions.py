"""Convolutions of integers less a zero point, as `IntegerProducts` makes them of bytes or words.

    y = conv2d(astype(x, i32) - zx, w32, padding)                    # NHWC, OHWI
        ->  n = conv2d(pad(x, zx), w8)                               # bytes, summed in 32 bits
            y = n - zx * sum(w32)                                    # a number for each channel

The border is the zero point, so that sums see zeros there. Channels are padded with zeros to the
groups that an instruction multiplies, filters to whole vectors. Where zero points are no constants,
or weights no signed bytes, and where bytes cannot be multiplied, operands of 16 bits hold `x - zx`.
"""

from __future__ import annotations

from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, is_call_of
from tvm.relax.transform.fold_dequantize import info_of, pays_along_a_row, sizes_of
from tvm.relax.transform.integer_operands import Centred, in_words, moved

# Data and weights in the forms that instructions multiply, by the operator.
CHANNELS_LAST: Final = {
    "relax.nn.conv1d": ("NWC", "OWI"), "relax.nn.conv2d": ("NHWC", "OHWI"),
}  # fmt: skip
GROUP: Final = 4    # channels: all forms multiply so many, or two
VECTOR: Final = 8   # filters: the shortest vector of sums that does not lose much


def is_convolution(value: object) -> TypeGuard[Call]:
    """Whether a value is a convolution that could take its channels last."""
    return any(is_call_of(value, name) for name in CHANNELS_LAST)


def is_last(call: Call) -> bool:
    """Whether a convolution has its channels last."""
    attrs: Any = call.attrs
    return (attrs.data_layout, attrs.kernel_layout) == _last(call)


def is_taken(call: Call) -> bool:
    """Whether a convolution has a form here: integers, channels known, all of them or one each."""
    infos = [info_of(arg) for arg in call.args]
    if any(info is None or str(info.dtype) != "int32" for info in infos):
        return False
    attrs: Any = call.attrs
    data, weights = _last(call)
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout)
    first = (_moved(data, 1), _moved(weights, 1), _moved(data, 1))
    if layouts not in (first, (data, weights, data)):
        return False
    image, kernel = (sizes_of(arg) for arg in call.args)
    if len(image) != len(data) or None in kernel or 0 in kernel:
        return False
    channels, groups = image[attrs.data_layout.index("C")], int(attrs.groups)
    if channels is None:
        return False
    if len(image) == 3:
        sizes = [kernel[attrs.kernel_layout.index(letter)] for letter in "OIW"]
        return groups == 1 and pays_along_a_row(sizes)
    return groups == 1 or groups == channels == kernel[0]


def _last(call: Call) -> tuple[str, str]:
    return next(last for name, last in CHANNELS_LAST.items() if is_call_of(call, name))


def _moved(layout: str, to: int) -> str:
    """A layout with its last letter at a place."""
    return layout[:to] + layout[-1] + layout[to:-1]


def convolved(
    bb: BlockBuilder, call: Call, a: Centred, w: NDArray[np.int32], form: tuple[str, str]
) -> RelaxExpr:
    """The convolution by instructions of these operands; `w` is (filters, window, inputs)."""
    attrs: Any = call.attrs
    if w.min() < -(1 << 15) or w.max() >= 1 << 15:
        return call
    bytes_fit = w.min() >= -128 and w.max() <= 127
    zero = _known(a.zero)
    by_words = form[0] == "int16" or not bytes_fit
    if zero is None or by_words:
        data, zero, kind = in_words(bb, a), 0, "int16"
    else:
        shifted = moved(bb, Centred(a.raw, None), form[0])
        data, kind = shifted.raw, "int8"
        zero += _known(shifted.zero) or 0
    plain = int(attrs.groups) == 1
    filters, inputs = w.shape[0], w.shape[-1]
    more = -inputs % GROUP if plain else 0
    border = [int(p) for p in attrs.padding]
    if more or any(border):
        sides = zip(border, border[len(border) // 2 :])  # all begins, then all ends
        widths = [0, 0, *(width for side in sides for width in side), 0, more]
        data = bb.emit(op.nn.pad(data, widths, pad_value=zero))
    empty = -filters % VECTOR if plain else 0
    padded = np.pad(w, [(0, empty), *[(0, 0)] * (w.ndim - 2), (0, more)]).astype(kind)
    made = op.nn.conv1d if w.ndim == 3 else op.nn.conv2d
    sums = bb.emit(made(
        data, Constant(padded), attrs.strides, 0, attrs.dilation, attrs.groups, *_last(call),
        out_dtype="int32",
    ))  # fmt: skip
    if empty:
        sums = bb.emit(op.strided_slice(sums, [w.ndim - 1], [0], [filters]))
    if zero == 0:
        return sums
    each = w.sum(axis=tuple(range(1, w.ndim)), dtype=np.int32)
    return op.subtract(sums, Constant(np.int32(zero) * each))


def _known(zero: RelaxExpr | None) -> int | None:
    """A zero point that is the same for all numbers, and known."""
    if zero is None:
        return 0
    if not isinstance(zero, Constant) or zero.data.numpy().size != 1:
        return None
    return int(zero.data.numpy().reshape(()))
