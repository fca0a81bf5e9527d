"""Padding in all the forms in which it is given, and sizes inferred from shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.support.arguments import explained
from tvm.topi.utils import get_const_int

Padding = Any  # an int, ints for each dimension or each side, "VALID", "SAME"


@explained
def infer_pad(data: te.Tensor, data_pad: te.Tensor | None) -> tuple[int, int]:
    """The padding of NCHW data on one side of each dimension; none if there is no padded stage."""
    if data_pad is None:
        return 0, 0
    (_, _, ih, iw), (_, _, th, tw) = data.shape, data_pad.shape
    return get_const_int(th - ih) // 2, get_const_int(tw - iw) // 2


@explained
def infer_pad3d(data: te.Tensor, data_pad: te.Tensor | None, layout: str) -> tuple[int, int, int]:
    """The whole padding of 3-d data in each dimension."""
    if data_pad is None:
        return 0, 0, 0
    if layout not in ("NDHWC", "NCDHW"):
        raise ValueError(f"Layout {layout} is not supported; legal: NDHWC, NCDHW")
    first = layout.index("D")
    pads = [get_const_int(data_pad.shape[i] - data.shape[i]) for i in range(first, first + 3)]
    return pads[0], pads[1], pads[2]


@explained
def infer_stride(data: te.Tensor, kernel: te.Tensor, out: te.Tensor) -> tuple[int, int]:
    """The strides of an NCHW convolution without padding, from its shapes."""
    (ih, iw), (kh, kw), (oh, ow) = data.shape[2:4], kernel.shape[2:4], out.shape[2:4]
    return (
        get_const_int(tir.indexdiv(ih - kh, oh - 1)),
        get_const_int(tir.indexdiv(iw - kw, ow - 1)),
    )


def _whole_padding(padding: Padding, kernel: Sequence[Any]) -> list[Any]:
    """The padding of both sides together, for each dimension."""
    if isinstance(padding, (tuple, list)):
        return [p * 2 for p in padding]
    if isinstance(padding, int):
        return [padding * 2] * len(kernel)
    if padding == "VALID":
        return [0] * len(kernel)
    if padding == "SAME":
        return [k - 1 for k in kernel]
    raise ValueError(
        message(
            f"Unknown padding option {padding}",
            legal="an int, one for each dimension, one for each side, 'VALID', 'SAME'",
        )
    )


def get_pad_tuple_generic(padding: Padding, kernel: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The padding before and after each dimension, for any number of dimensions."""
    count = len(kernel)
    if isinstance(padding, (tuple, list)):
        if len(padding) == 2 * count:
            return list(padding[:count]), list(padding[count:])
        if len(padding) != count:
            raise ShapeError(
                message(
                    "Size of padding can only be len(kernel) or len(kernel) * 2",
                    found=f"{len(padding)} values for {count} dimensions",
                    legal=f"{count} or {2 * count} values",
                )
            )
    whole = _whole_padding(padding, kernel)
    before = [(p + 1) // 2 for p in whole]
    return before, [p - b for p, b in zip(whole, before)]


def _all_sides(padding: Padding, kernel: Sequence[Any]) -> tuple[Any, ...]:
    before, after = get_pad_tuple_generic(padding, kernel)
    return (*before, *after)


def get_pad_tuple(padding: Padding, kernel: Sequence[Any]) -> tuple[Any, ...]:
    """(top, left, bottom, right)."""
    return _all_sides(padding, kernel)


def get_pad_tuple3d(padding: Padding, kernel: Sequence[Any]) -> tuple[Any, ...]:
    """(front, top, left, back, bottom, right)."""
    return _all_sides(padding, kernel)


def get_pad_tuple1d(padding: Padding, kernel: Any) -> tuple[Any, ...]:
    """(left, right)."""
    width = kernel if isinstance(kernel, (tuple, list)) else (kernel,)
    return _all_sides(padding, width)
