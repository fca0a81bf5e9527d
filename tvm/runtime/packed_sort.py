"""`tvm.contrib.sort.*`: sorting as functions that compiled code calls by name.

Sorting is stable, ascending or descending, and writes into the last tensors that are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.error import ShapeError, message
from tvm.ffi import register_global_func

from ._tensor import Tensor, host_view


def _order(values: Any, axis: int, ascending: bool) -> Any:
    """Where the elements of sorted `values` stand in it; equal ones stay as they were."""
    if ascending:
        return np.argsort(values, axis=axis, kind="stable")
    # a descending stable order: sort what is turned round, and turn that round
    order = np.argsort(np.flip(values, axis), axis=axis, kind="stable")
    return np.flip(values.shape[axis] - 1 - order, axis)


def _axis(axis: int, values: Any, what: str) -> int:
    if not -values.ndim <= axis < values.ndim:
        raise ShapeError(
            message(
                f"tvm.contrib.sort.{what} along axis {axis}",
                found=f"a tensor of {values.ndim} dimensions",
                legal=f"an axis from {-values.ndim} to {values.ndim - 1}",
            )
        )
    return axis % int(values.ndim)


@register_global_func("tvm.contrib.sort.sort", override=True)
def sort(data: Tensor, output: Tensor, axis: int, is_ascend: bool) -> None:
    """The elements of `data` in order along an axis, into `output` of the same shape."""
    values = host_view(data)
    axis = _axis(int(axis), values, "sort")
    order = _order(values, axis, bool(is_ascend))
    host_view(output)[...] = np.take_along_axis(values, order, axis)


@register_global_func("tvm.contrib.sort.argsort", override=True)
def argsort(data: Tensor, output: Tensor, axis: int, is_ascend: bool) -> None:
    """The positions that would sort `data`, in the dtype of `output`."""
    values = host_view(data)
    axis = _axis(int(axis), values, "argsort")
    host_view(output)[...] = _order(values, axis, bool(is_ascend))


@register_global_func("tvm.contrib.sort.argsort_nms", override=True)
def argsort_nms(
    data: Tensor, sort_num: Tensor, output: Tensor, axis: int, is_ascend: bool
) -> None:
    """As `argsort`, of the first elements of each row; the others stay where they are.

    `sort_num` has the shape of `data` without the axis: how many of each row are sorted.
    """
    values, counts = host_view(data), host_view(sort_num)
    axis = _axis(int(axis), values, "argsort_nms")
    rows = np.moveaxis(values, axis, -1)
    out_rows = np.moveaxis(host_view(output), axis, -1)
    if counts.size != rows[..., 0].size:
        raise ShapeError(
            message(
                "tvm.contrib.sort.argsort_nms",
                found=f"data {values.shape} and {counts.size} counts",
                legal=f"a count for each of the {rows[..., 0].size} rows along axis {axis}",
            )
        )
    counts = counts.reshape(rows.shape[:-1])
    for at in np.ndindex(*rows.shape[:-1]):
        count = min(max(int(counts[at]), 0), rows.shape[-1])
        out_rows[at][count:] = np.arange(count, rows.shape[-1])
        out_rows[at][:count] = _order(rows[at][:count], 0, bool(is_ascend))


@register_global_func("tvm.contrib.sort.topk", override=True)
def topk(data: Tensor, *rest: Any) -> None:
    """The first `k` elements of sorted `data`: `(data, out..., k, axis, ret_type, is_ascend)`.

    `ret_type` is "both" (values and then indices), "values" or "indices"; it says which outputs
    are given. A `k` below 1 takes all.
    """
    *outputs, k, axis, ret_type, is_ascend = rest
    wanted = {"both": 2, "values": 1, "indices": 1}.get(str(ret_type))
    if wanted != len(outputs):
        raise ValueError(
            message(
                "tvm.contrib.sort.topk",
                found=f"ret_type {str(ret_type)!r} with {len(outputs)} outputs",
                legal="'both' with two outputs, 'values' or 'indices' with one",
            )
        )
    values = host_view(data)
    axis = _axis(int(axis), values, "topk")
    order = _order(values, axis, bool(is_ascend))
    if int(k) >= 1:
        order = np.take(order, range(min(int(k), values.shape[axis])), axis)
    if str(ret_type) != "indices":
        host_view(outputs[0])[...] = np.take_along_axis(values, order, axis)
    if str(ret_type) != "values":
        host_view(outputs[-1])[...] = order
