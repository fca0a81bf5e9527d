"""Convolutions of integers less a zero point, as `IntegerProducts` makes them of bytes or words.

    y = conv2d(astype(x, i32) - zx, w32, padding)                    # NHWC, OHWI
        ->  n = conv2d(pad(x, zx), w8)                               # bytes, summed in 32 bits
            y = n - zx * sum(w32)                                    # a number for each channel

The border is the zero point, so that sums see zeros there. Channels are padded with zeros to the
groups that an instruction multiplies, filters to whole vectors. Where zero points are no constants,
or weights no signed bytes, and where bytes cannot be multiplied, operands of 16 bits hold `x - zx`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant
from tvm.relax.transform.fold_dequantize import info_of, sizes_of
from tvm.relax.transform.integer_operands import Centred, in_words, moved

GROUP: Final = 4    # channels: all forms multiply so many, or two
VECTOR: Final = 8   # filters: the shortest vector of sums that does not lose much


def is_taken(call: Call) -> bool:
    """Whether a convolution has a form here: integers, channels known, all of them or one each."""
    infos = [info_of(arg) for arg in call.args]
    if any(info is None or str(info.dtype) != "int32" for info in infos):
        return False
    attrs: Any = call.attrs
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout)
    if layouts not in (("NCHW", "OIHW", "NCHW"), ("NHWC", "OHWI", "NHWC")):
        return False
    image, kernel = (sizes_of(arg) for arg in call.args)
    if len(image) != 4 or None in kernel or 0 in kernel:
        return False
    channels, groups = image[attrs.data_layout.index("C")], int(attrs.groups)
    return channels is not None and (groups == 1 or groups == channels == kernel[0])


def convolved(
    bb: BlockBuilder, call: Call, a: Centred, w: NDArray[np.int32], form: tuple[str, str]
) -> RelaxExpr:
    """The convolution by instructions of these operands; `w` is (filters, h, w, inputs)."""
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
    filters, _, _, inputs = w.shape
    more = -inputs % GROUP if plain else 0
    top, left, bottom, right = (int(p) for p in attrs.padding)
    if more or top or left or bottom or right:
        widths = [0, 0, top, bottom, left, right, 0, more]
        data = bb.emit(op.nn.pad(data, widths, pad_value=zero))
    empty = -filters % VECTOR if plain else 0
    padded = np.pad(w, [(0, empty), (0, 0), (0, 0), (0, more)]).astype(kind)
    sums = bb.emit(op.nn.conv2d(
        data, Constant(padded), attrs.strides, 0, attrs.dilation, attrs.groups, "NHWC", "OHWI",
        out_dtype="int32",
    ))  # fmt: skip
    if empty:
        sums = bb.emit(op.strided_slice(sums, [3], [0], [filters]))
    if zero == 0:
        return sums
    return op.subtract(sums, Constant(np.int32(zero) * w.sum(axis=(1, 2, 3), dtype=np.int32)))


def _known(zero: RelaxExpr | None) -> int | None:
    """A zero point that is the same for all numbers, and known."""
    if zero is None:
        return 0
    if not isinstance(zero, Constant) or zero.data.numpy().size != 1:
        return None
    return int(zero.data.numpy().reshape(()))
