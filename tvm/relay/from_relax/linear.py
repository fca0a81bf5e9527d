"""Products of matrices, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

from tvm.relay import op as _op
from tvm.relay.expr import Call, const

from .elementwise import dtype_of
from .translate import Translator, as_number, rule, shape_values


def extents(info: Any) -> list[Any]:
    """The extents of a tensor; None for those that are no numbers."""
    if info.shape is None:
        return [None] * int(info.ndim)
    found = [as_number(e) for e in shape_values(info.shape)]
    return [e if isinstance(e, int) else None for e in found]


def _swapped(x: Any, rank: int) -> Any:
    """A matrix, or each of many, the other way round."""
    if rank == 2 and _is_swapped(x):
        return x.args[0]
    return _op.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@rule("relax.matmul")
def matmul(t: Translator, call: Any, a: Any, b: Any) -> Any:
    """Products over the last axis and the one but last, for each index of the axes before."""
    left, right = (extents(arg.struct_info) for arg in call.args)
    dtype = dtype_of(call)
    wide = "" if dtype == dtype_of(call, 0) else dtype
    dropped = []
    if len(left) == 1:
        a, left, dropped = _op.expand_dims(a, 0), [1, *left], [-2]
    if len(right) == 1:
        b, right, dropped = _op.expand_dims(b, 1), [*right, 1], [*dropped, -1]
    made = _product(t, a, b, left, right, wide)
    return _op.squeeze(made, dropped) if dropped else made


def _is_swapped(x: Any) -> bool:
    if not isinstance(x, Call) or getattr(x.op, "name", "") != "transpose":
        return False
    axes = x.attrs.axes  # type: ignore[union-attr]
    return axes is None or [int(axis) for axis in axes] in ([1, 0], [-1, -2])


def _product(t: Translator, a: Any, b: Any, left: Any, right: Any, wide: str) -> Any:
    if len(right) == 2 and len(left) == 2:
        return _op.nn.dense(a, _swapped(b, 2), out_dtype=wide)
    if len(left) == len(right) == 3 and left[0] == right[0] and left[0] is not None:
        return _op.nn.batch_matmul(a, _swapped(b, 3), out_dtype=wide)
    if len(right) == 2 and right[0] is not None:  # one matrix for all
        flat = _op.nn.dense(_op.reshape(a, [-1, right[0]]), _swapped(b, 2), out_dtype=wide)
        if right[1] is not None and left.count(None) == 0:
            return _op.reshape(flat, [*left[:-1], right[1]])
        return _op.reshape(flat, _joined(a, flat, len(left)))
    return _batched(t, a, b, left, right, wide)


def _joined(a: Any, flat: Any, rank: int) -> Any:
    """The extents of the rows, and those of the columns."""
    rows = _op.strided_slice(_op.shape_of(a, "int64"), [0], [rank - 1])
    columns = _op.strided_slice(_op.shape_of(flat, "int64"), [1], [2])
    return _op.concatenate([rows, columns], 0)


def _batched(t: Translator, a: Any, b: Any, left: Any, right: Any, wide: str) -> Any:
    rank = max(len(left), len(right))
    lacking = (rank - len(left), rank - len(right))
    left, right = [1] * lacking[0] + left, [1] * lacking[1] + right
    outer: list[Any] = [
        x if y == 1 else y if x in (1, y) else None for x, y in zip(left[:-2], right[:-2])
    ]
    if None in [*outer, *left[-2:], *right[-2:]]:
        return _batched_at_run_time(a, b, rank, lacking, wide)
    count = math.prod(outer)
    sides = []
    for x, found in ((a, left), (b, right)):
        whole = [*outer, *found[-2:]]
        spread = x if found == whole else _op.broadcast_to(x, whole)
        sides.append(_op.reshape(spread, [count, *found[-2:]]))
    made = _op.nn.batch_matmul(sides[0], _swapped(sides[1], 3), out_dtype=wide)
    return _op.reshape(made, [*outer, left[-2], right[-1]])


def _batched_at_run_time(a: Any, b: Any, rank: int, lacking: tuple[int, int], wide: str) -> Any:
    """As above, with the extents of the tensors that come."""
    sides = [_op.reshape(x, _padded(x, count)) for x, count in zip((a, b), lacking)]
    shapes = [_op.shape_of(x, "int64") for x in sides]
    outer = _op.maximum(*(_op.strided_slice(s, [0], [rank - 2]) for s in shapes))
    ends = [_op.strided_slice(s, [rank - 2], [rank]) for s in shapes]
    flat = []
    for x, end in zip(sides, ends):
        spread = _op.broadcast_to(x, _op.concatenate([outer, end], 0))
        minus = const([-1], "int64")
        flat.append(_op.reshape(spread, _op.concatenate([minus, end], 0)))
    made = _op.nn.batch_matmul(flat[0], _swapped(flat[1], 3), out_dtype=wide)
    rows = _op.strided_slice(ends[0], [0], [1])
    columns = _op.strided_slice(ends[1], [1], [2])
    return _op.reshape(made, _op.concatenate([outer, rows, columns], 0))


def _padded(x: Any, lacking: int) -> Any:
    """The shape with axes of one element before the others."""
    shape = _op.shape_of(x, "int64")
    return _op.concatenate([const([1] * lacking, "int64"), shape], 0) if lacking else shape


@rule("relax.outer")
def outer(t: Translator, call: Any, a: Any, b: Any) -> Any:
    """All products of two vectors' elements."""
    return _op.multiply(_op.expand_dims(a, 1), _op.expand_dims(b, 0))


@rule("relax.einsum")
def einsum(t: Translator, call: Any, operands: Any) -> Any:
    """Sums of products by the letters of axes."""
    return _op.einsum(list(operands), str(call.attrs.subscripts))


@rule("relax.nn.attention", "relax.nn.attention_bias")
def attention(t: Translator, call: Any, *args: Any) -> Any:
    """softmax(q k^T * scale + bias) v over tensors (batch, positions, heads, depth)."""
    attrs: Any = call.attrs
    infos: Any = [arg.struct_info for arg in call.args]
    depth = extents(infos[0])[3]
    if depth is None or attrs.window_size is not None:
        from tvm.error import OpNotImplemented, message

        raise OpNotImplemented(
            message("attention in Relay", found="an unknown depth, or a window", legal="neither")
        )
    dtype = dtype_of(call)
    scale = 1 / math.sqrt(depth) if attrs.scale is None else float(attrs.scale.value)
    q, k, v = (_op.transpose(x, [0, 2, 1, 3]) for x in args[:3])
    shapes = [[extents(info)[at] for at in (0, 2, 1, 3)] for info in infos[:3]]
    score = _product(t, q, _swapped(k, 4), shapes[0], [*shapes[1][:2], depth, shapes[1][2]], "")
    score = _op.multiply(score, const(scale, dtype))
    if len(args) == 4:
        score = _op.add(score, args[3])
    if attrs.causal_mask is not None:
        score = _causal(score, str(attrs.causal_mask), dtype)
    inner = [*shapes[0][:3], shapes[1][2]]
    made = _product(t, _op.nn.softmax(score, -1), v, inner, shapes[2], "")
    return _op.transpose(made, [0, 2, 1, 3])


def _causal(score: Any, kind: str, dtype: str) -> Any:
    """Later positions count nothing; the corner is that of the top left or the bottom right."""
    shape = _op.shape_of(score, "int64")
    rows, columns = (_op.take(shape, const(at, "int64"), axis=0) for at in (2, 3))
    zero, one = const(0, "int64"), const(1, "int64")
    down = _op.expand_dims(_op.arange(zero, rows, one, dtype="int64"), 1)
    along = _op.expand_dims(_op.arange(zero, columns, one, dtype="int64"), 0)
    last = down if kind == "TopLeft" else down + (columns - rows)
    return _op.where(_op.less_equal(along, last), score, const(-float("inf"), dtype))
