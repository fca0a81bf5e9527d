"""Transposed convolutions with constant weights become convolutions of the data as it is.

    y = conv2d_transpose(x, w, strides=s)   ->   z = conv2d(x, phases of w)   # s * s filters each
                                                 y = z, its phases put side by side

With o + padding = s * q + r, output o is in phase r the sum over t of x[q - t] * w[r + s * t]: a
convolution by every s-th weight. The zeros between the data that a direct sum multiplies by are
gone. (As W. Shi et al. do for upscaling: "Is the deconvolution layer the same as a convolutional
layer?", 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Call,
    Constant,
    Function,
    ShapeExpr,
)
from tvm.relax.op.manipulate import permute_dims, reshape
from tvm.relax.op.nn import conv1d, conv2d
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rewrite_calls
from tvm.tir.expr import IntImm

RUN: Final = 8  # rows are made whole runs of so many, which convolutions copy as vectors
LAYOUTS: Final = {
    "relax.nn.conv1d_transpose": ("NCW", "IOW"),
    "relax.nn.conv2d_transpose": ("NCHW", "IOHW"),
}


@relax_pass("ConvTransposeAsConv")
def ConvTransposeAsConv(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Rewrite those with one group and no dilation."""
    return rewrite_calls(func, dict.fromkeys(LAYOUTS, _phases))


def _phases(bb: BlockBuilder, call: Call) -> RelaxExpr:
    """The convolution, and its phases put side by side."""
    if not _is_ours(call):
        return call
    attrs: Any = call.attrs
    data, weight = call.args
    assert isinstance(weight, Constant), "as planned"
    steps = [int(s) for s in attrs.strides]
    phases = phases_of(weight.data.numpy(), steps)
    taps = phases.shape[2:]
    conv = conv1d if len(steps) == 1 else conv2d
    around = [t - 1 for t in taps]
    width = _sizes(data.struct_info)[-1]
    known = width.value if isinstance(width, IntImm) else 0
    more = -(known + around[-1]) % RUN if known >= RUN else 0
    pads = [*around, *around[:-1], around[-1] + more]
    z = bb.emit(
        conv(data, Constant(phases), padding=pads, out_dtype=attrs.out_dtype or None)
    )
    info = z.struct_info
    assert isinstance(info, TensorStructInfo), "a convolution is a tensor"
    assert isinstance(info.shape, ShapeExpr), "of known shape"
    batch, _, *sizes = info.shape.values
    filters = weight.data.shape[1]
    if any(step > 1 for step in steps):
        split = bb.emit(reshape(z, [batch, filters, *steps, *sizes]))
        dims = len(steps)
        order = [0, 1, *(a for d in range(dims) for a in (2 + dims + d, 2 + d))]
        flipped = bb.emit(permute_dims(split, order))
        wide = [size * step for size, step in zip(sizes, steps)]
        z = bb.emit(reshape(flipped, [batch, filters, *wide]))
    return _cut(bb, call, z)


def _cut(bb: BlockBuilder, call: Call, z: RelaxExpr) -> RelaxExpr:
    """The part that is not padding; zeros where output padding asks for more."""
    from tvm.relax.op.index import strided_slice
    from tvm.relax.op.nn import pad

    attrs: Any = call.attrs
    wanted, given = _sizes(call.struct_info), _sizes(z.struct_info)
    begin = [int(p) for p in attrs.padding[: len(wanted)]]
    missing = [_difference(b + w, g) for b, w, g in zip(begin, wanted, given)]
    if max(missing) > 0:
        z = bb.emit(pad(z, [0] * 4 + [n for m in missing for n in (0, max(0, m))]))
    if not any(begin) and min(missing) >= 0:
        return z
    axes = list(range(2, 2 + len(wanted)))
    return strided_slice(z, axes, begin, [b + w for b, w in zip(begin, wanted)])


def _difference(a: PrimExpr, b: PrimExpr) -> int:
    """a - b of sizes that grow alike."""
    found = Analyzer().simplify(a - b)
    assert isinstance(found, IntImm), "both are the step times the size of the data, and a number"
    return found.value


def phases_of(weight: np.ndarray, steps: Sequence[int]) -> np.ndarray:
    """Every s-th weight, flipped: (c, o, ...) -> (o * s * ..., c, ceil(... / s))."""
    channels, filters, *windows = weight.shape
    taps = [-(-k // s) for k, s in zip(windows, steps)]
    room = [(0, t * s - k) for t, s, k in zip(taps, steps, windows)]
    whole = np.pad(weight, [(0, 0), (0, 0), *room])
    parts = [x for pair in zip(taps, steps) for x in pair]
    apart = whole.reshape(channels, filters, *parts)  # c, o, then taps and phase of each dimension
    dims = len(steps)
    order = [1, *(3 + 2 * d for d in range(dims)), 0, *(2 + 2 * d for d in range(dims))]
    flipped = np.flip(apart.transpose(order), tuple(range(dims + 2, 2 * dims + 2)))
    return np.ascontiguousarray(flipped.reshape(filters * int(np.prod(steps)), channels, *taps))


def _is_ours(value: object) -> bool:
    if not isinstance(value, Call) or not isinstance(value.op, Op):
        return False
    layouts = LAYOUTS.get(value.op.name)
    if layouts is None or not isinstance(value.args[1], Constant):
        return False
    attrs: Any = value.attrs
    plain = [*attrs.dilation, attrs.groups]
    if (attrs.data_layout, attrs.kernel_layout) != layouts or any(int(x) != 1 for x in plain):
        return False
    if attrs.out_layout not in ("", None, attrs.data_layout) or min(map(int, attrs.padding)) < 0:
        return False
    infos = (value.struct_info, value.args[0].struct_info)
    if not all(isinstance(i, TensorStructInfo) and isinstance(i.shape, ShapeExpr) for i in infos):
        return False
    sizes = [size for info in infos for size in _sizes(info)]
    return not any(isinstance(size, IntImm) and size.value <= 0 for size in sizes)


def _sizes(info: object) -> list[PrimExpr]:
    """The sizes of an image."""
    assert isinstance(info, TensorStructInfo), "looked at before"
    assert isinstance(info.shape, ShapeExpr), "looked at before"
    return list(info.shape.values[2:])
