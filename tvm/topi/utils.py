"""Shapes, constants and layouts: what operator definitions share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from tvm import target as _target
from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import CheckError, TVMError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.node import number
from tvm.support.arguments import explained
from tvm.tir.data_layout import layout, mapping_of
from tvm.tir.expr import as_expr

from . import tag
from .common import compute


class InvalidShapeError(ValueError):
    """A shape that an operator or a schedule cannot take."""


def ncw_pack_layout(layout_info: str) -> bool:
    """Whether it is NCWinic, a layout with channels in two blocks."""
    return layout_info[:3] == "NCW" and "c" in layout_info and "n" in layout_info


def ncw_xc_layout(layout_info: str) -> bool:
    """Whether it is NCWxc, channels in blocks of x."""
    return layout_info[:3] == "NCW" and "c" in layout_info and layout_info[3:-1].isnumeric()


def nchw_pack_layout(layout_info: str) -> bool:
    """Whether it is NCHWinic, batch and channels in blocks."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and "n" in layout_info


def nchw_xc_layout(layout_info: str) -> bool:
    """Whether it is NCHWxc, channels in blocks of x."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and layout_info[4:-1].isnumeric()


@explained
def traverse_inline(
    s: Any, final_op: te.Operation, callback: Callable[[te.Operation], Any]
) -> None:
    """Call `callback` on the operations from `final_op` backwards, inlining broadcast ones.

    `s` is a schedule that maps operations to stages with `compute_inline`.
    """
    visited: set[int] = set()
    stack = [final_op]
    while stack:
        op = stack.pop()
        if id(op) in visited:
            continue
        visited.add(id(op))
        if tag.is_broadcast(op.tag):
            if op is not final_op:
                s[op].compute_inline()
            stack.extend(t.op for t in op.input_tensors if t.op.input_tensors)
        callback(op)


def prod(x: Sequence[Any]) -> Any:
    """The product of all elements; int32 one for none."""
    if not x:
        return tir.const(1, "int32")
    total = x[0]
    for factor in list(x)[1:]:
        total = total * factor
    return total


def get_const_int(expr: Any) -> int:
    """The integer that an expression is; a ValueError if it is not known."""
    if isinstance(expr, Integral):
        return int(expr)
    if not isinstance(expr, tir.IntImm):
        expr = Analyzer().simplify(expr)
    if not isinstance(expr, tir.IntImm):
        raise ValueError(f"Expect value to be constant int, found {expr}")
    return int(expr.value)


def get_const_float(expr: Any) -> float:
    """The float that an expression is; a ValueError if it is not known."""
    if isinstance(expr, float):
        return float(expr)
    if not isinstance(expr, tir.FloatImm):
        expr = Analyzer().simplify(expr)
    if not isinstance(expr, tir.FloatImm):
        raise ValueError(f"Expect value to be constant float, found {expr}")
    return float(expr.value)


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether an expression is known to be this integer."""
    if isinstance(expr, Integral):
        return int(expr) == value
    if not isinstance(expr, tir.IntImm):
        expr = Analyzer().simplify(expr)
    return isinstance(expr, tir.IntImm) and expr.value == value


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """A shape with plain ints where they are known; symbolic extents stay."""
    return tuple(_known_or_symbolic(elem) for elem in in_tuple)


def _known_or_symbolic(elem: Any) -> Any:
    if isinstance(elem, Integral):
        return int(elem)
    if isinstance(elem, tir.IntImm):
        return elem.value
    if isinstance(elem, tir.Var):
        return elem
    simple = Analyzer().simplify(elem)
    return simple.value if isinstance(simple, tir.IntImm) else simple


def get_float_tuple(in_tuple: Sequence[Any]) -> tuple[float, ...]:
    """All elements as Python floats."""
    return tuple(get_const_float(elem) for elem in in_tuple)


@explained
def const_vector(vector: Any, name: str = "const_vector") -> te.Tensor:
    """A stage whose elements are the constants of a one-dimensional numpy array."""
    values = [x.item() for x in vector]
    dtype = str(vector.dtype)

    def select(i: PrimExpr) -> PrimExpr:
        return _pick(values, i, dtype)

    return compute((len(values),), select, name=name)


@explained
def const_matrix(matrix: Any, name: str = "const_matrix", attrs: Any = None) -> te.Tensor:
    """A stage whose elements are the constants of a two-dimensional numpy array."""
    rows, columns = matrix.shape
    dtype = str(matrix.dtype)

    def select(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        now: PrimExpr = tir.const(0.0 if "float" in dtype else 0, dtype)
        for row in range(rows):
            for column in range(columns):
                here = tir.all((i % rows).equal(row), (j % columns).equal(column))
                value = tir.const(matrix[row][column].item(), dtype)
                now = tir.Select(here, value, now)
        return now

    notes = {"const_matrix": tir.const(True)} if attrs is None else attrs
    return compute((rows, columns), select, name=name, attrs={**notes, "schedule_rule": "None"})


def _pick(values: Sequence[Any], i: PrimExpr, dtype: str) -> PrimExpr:
    now: PrimExpr = tir.const(0, dtype)
    for at, value in enumerate(values):
        now = tir.Select(tir.EQ(i, tir.const(at, i.dtype)), tir.const(value, dtype), now)
    return now


def simplify(expr: Any) -> Any:
    """The simplified expression; anything else as it is."""
    return Analyzer().simplify(expr) if isinstance(expr, PrimExpr) else expr


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The number of an element in row-major order."""
    index: Any = None
    for i, own in enumerate(indices):
        index = own if index is None else index * shape[i] + own
    return tir.const(0, "int32") if index is None else index


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of element number `idx` in row-major order."""
    if len(shape) == 1:
        return [idx]
    indices = []
    for i in range(len(shape) - 1, 0, -1):
        indices.append(tir.indexmod(idx, shape[i]))
        idx = tir.indexdiv(idx, shape[i])
    indices.append(idx)
    return indices[::-1]


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of two that divides `n`, not above `max_value`."""
    x = 1
    while n % 2 == 0 and (max_value is None or max_value >= x * 2):
        x *= 2
        n //= 2
    return x


def get_shape(src_shape: Sequence[Any], src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """The shape of a tensor of `src_shape` after its layout has changed."""
    if src_layout == dst_layout:
        return get_const_tuple(src_shape)
    src, dst = layout(src_layout), layout(dst_layout)
    assert len(src) == len(dst), f"Incompatible layout {src_layout} vs {dst_layout}"
    mapping = mapping_of(src, dst)
    identity = mapping.forward_index([tir.const(i, "int32") for i in range(len(src_layout))])
    return get_const_tuple([src_shape[get_const_int(i)] for i in identity])


def within_index(b: Any, e: Any, s: Any, i: Any) -> PrimExpr:
    """Whether `i` is one of b, b + s, ... up to, not including, e (s may be negative)."""
    counting_up = tir.all(b <= i, i < e)
    counting_down = tir.all(e < i, i <= b)
    between = tir.Select(as_expr(s < 0), counting_down, counting_up)
    return tir.all(between, (tir.abs(i - b) % tir.abs(s)).equal(0))


def make_idx(b: Any, e: Any, s: Any, z: Any, i: Any) -> PrimExpr:
    """The number of `i` in b, b + s, ..., clipped to a dimension of size `z`."""
    begin = tir.Select(b < 0, b + z, b)
    end = tir.Select(e < 0, e + z, e)
    low = tir.Select(tir.any(begin < 0, end < 0), tir.const(0, i.dtype), begin)
    limit = tir.Select(s < 0, z - 1, z)
    low = tir.Select(begin >= z, limit, low)
    return tir.floordiv(i - low, s)


def is_empty_shape(shape: Sequence[Any]) -> bool:
    """Whether a known extent is zero."""
    return any(equal_const_int(dim, 0) for dim in shape)


def ceil_div(a: Any, b: Any) -> Any:
    """a / b rounded up, for numbers at least zero."""
    return tir.indexdiv(a + (b - 1), b)


def swap(arr: Sequence[Any], axis: int) -> list[Any]:
    """The list with element `axis` and the last one exchanged."""
    if axis == len(arr) - 1:
        return list(arr)
    return [*arr[:axis], arr[-1], *arr[axis + 1 : -1], arr[axis]]


def is_target(names: str | Sequence[str]) -> bool:
    """Whether the current target is of one of the kinds."""
    wanted = [names] if isinstance(names, str) else list(names)
    current = _target.Target.current(allow_none=True)
    return current is not None and any(name in current.keys for name in wanted)


def is_dynamic_shape(shape: Sequence[Any]) -> bool:
    """Whether an extent is symbolic."""
    return any(isinstance(dim, tir.Var) or not _is_known(dim) for dim in shape)


def _is_known(dim: Any) -> bool:
    return isinstance(dim, (Integral, tir.IntImm))


def normal_axis(axis: Any, ndim: int, what: str) -> int:
    """An axis counted from the front; an error where there is no such axis."""
    dim = number(int, axis, f"{what}: the axis")
    if not -ndim <= dim < ndim:
        raise InvalidAxisError(
            message(
                f"{what}: axis {dim}",
                found=f"a tensor of {ndim} dimensions",
                legal=f"{-ndim} <= axis < {ndim}",
            )
        )
    return dim % ndim if ndim else 0


class InvalidAxisError(CheckError, ValueError, IndexError):
    """An axis that the tensor does not have."""


@explained
def normal_axes(axis: Any, ndim: int, what: str) -> list[int]:
    """Axes from the front, sorted, each once; all of them for None."""
    if axis is None:
        return list(range(ndim))
    several = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return sorted({normal_axis(a, ndim, what) for a in several})


_LAYOUT_AXIS = re.compile(r"\d*[A-Za-z]")


def layout_axes(text: str, wanted: str, what: str) -> list[int]:
    """The positions of the axes `wanted` (like "HW") in a layout, in which they are not split."""
    names = [part[-1] for part in _LAYOUT_AXIS.findall(text)]
    positions = []
    for name in wanted:
        if name not in names or name.lower() in names:
            raise TVMError(
                message(f"{what}: layout {text!r}", legal=f"a layout with an unsplit axis {name}")
            )
        positions.append(names.index(name))
    return positions
