"""Products of matrices, and what adds a bias to them."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relay.expr import Call
from tvm.relay.op.declare import (
    BROADCAST,
    INJECTIVE,
    OUT_FUSABLE,
    REQUIRED,
    Expr,
    Relate,
    relay_op,
    topi,
)
from tvm.relay.op.relations import axis_of, extents, is_any, same_extent, tensor, vector
from tvm.relay.op.reshapes import product
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import IncompleteType, TensorType


def _differ(a: Any, b: Any) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


def _matmul_dtype(ctx: Relate, x: TensorType) -> Any:
    return ctx.attrs.out_dtype or x.dtype


def _dense_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims, units = extents(x), ctx.attrs.units
    if isinstance(ctx.types[1], IncompleteType):
        if units is None:
            return None
        ctx.assign(1, TensorType((units, dims[-1]), x.dtype))
    weight = tensor(ctx, 1)
    assert weight is not None, "known by now"
    rows = extents(weight)
    if len(rows) != 2 or _differ(rows[1], dims[-1]):
        raise ctx.fail("the weight does not fit the data", f"a weight (units, {dims[-1]})")
    if units is not None and _differ(units, rows[0]):
        raise ctx.fail(f"units {units} is not that of the weight", f"units={rows[0]}")
    return TensorType([*dims[:-1], rows[0]], _matmul_dtype(ctx, x))


def _dense(bb: Any, x: Any, w: Any, *, units: Any, out_dtype: str) -> Any:
    turned = bb.normalize_argument(R.permute_dims(w, [1, 0]))
    return R.matmul(x, turned, out_dtype or None)


@relay_op("nn.dense", "DenseAttrs", operands=("data", "weight"), relation=_dense_type, level=1,
          pattern=OUT_FUSABLE, lower=_dense, optional={"units": REQUIRED})  # fmt: skip
def dense(data: Expr, weight: Expr, units: int | None = None, out_dtype: str = "") -> Call:
    """`data` times the transpose of `weight`.   (..., k), (units, k) -> (..., units)"""
    return dense.call(data, weight, units=None if units is None else int(units),
                      out_dtype=out_dtype)  # fmt: skip


def _packed_type(ctx: Relate) -> Type | None:
    x, weight = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or weight is None:
        return None
    dims, packed = extents(x), extents(weight)
    fits = len(packed) in (3, 4) and len(dims) == 2
    if fits and len(packed) == 4:  # columns in blocks, too
        packed = [packed[0], packed[1] * packed[3], packed[2]]
    if not fits or _differ(packed[1], dims[1]):
        raise ctx.fail("the weight does not fit the data", f"a weight (rows, {dims[-1]}, block)")
    rows = AnyDim() if is_any(packed[0], packed[2]) else packed[0] * packed[2]
    if ctx.attrs.units is not None and _differ(int(ctx.attrs.units), rows):
        raise ctx.fail(f"units {ctx.attrs.units} is not that of the weight", f"units={rows}")
    return TensorType([dims[0], rows], _matmul_dtype(ctx, x))


def _packed(bb: Any, x: Any, w: Any, *, units: Any, out_dtype: str, weight_layout: str) -> Any:
    rows, inner, block, *columns = w.struct_info.shape.values
    order = [1, 0, 2] if not columns else [1, 3, 0, 2]
    inner = inner * columns[0] if columns else inner
    turned = bb.normalize_argument(R.permute_dims(w, order))
    flat = bb.normalize_argument(R.reshape(turned, (inner, rows * block)))
    return R.matmul(x, flat, out_dtype or None)


@relay_op("nn.contrib_dense_pack", "DensePackAttrs", operands=("data", "weight"), level=10,
          relation=_packed_type, pattern=OUT_FUSABLE, lower=_packed,
          first=("units", "out_dtype"), optional={"units": REQUIRED})  # fmt: skip
def contrib_dense_pack(
    data: Expr, weight: Expr, weight_layout: str = "NC", units: int | None = None,
    out_dtype: str = "",
) -> Call:  # fmt: skip
    """`data` times the transpose of a weight in blocks of rows, as "NC8n" says, or "NC16n4c".

    (m, k), (n / block, k, block) -> (m, n)                 (m, k), (n / 16, k / 4, 16, 4) -> (m, n)
    """
    return contrib_dense_pack.call(
        data, weight, units=None if units is None else int(units), out_dtype=out_dtype,
        weight_layout=weight_layout,
    )  # fmt: skip


def _matmul_type(ctx: Relate) -> Type | None:
    o = ctx.attrs
    a = tensor(ctx, 0)
    if a is None:
        return None
    dims = extents(a)
    inner = dims[-2] if o.transpose_a else dims[-1]
    outer = [*dims[:-2], dims[-1]] if o.transpose_a else dims[:-1]
    if isinstance(ctx.types[1], IncompleteType):
        if o.units is None:
            return None
        shape = (o.units, inner) if o.transpose_b else (inner, o.units)
        ctx.assign(1, TensorType(shape, a.dtype))
    b = tensor(ctx, 1)
    assert b is not None, "known by now"
    rows = extents(b)
    if len(rows) != 2:
        raise ctx.fail(f"the second operand has {len(rows)} dimensions", "a matrix")
    k, n = (rows[1], rows[0]) if o.transpose_b else (rows[0], rows[1])
    if _differ(k, inner):
        raise ctx.fail(f"inner extents {inner} and {k} differ", "equal inner extents")
    if o.units is not None and _differ(int(o.units), n):
        raise ctx.fail(f"units {o.units} is not that of the second operand", f"units={n}")
    return TensorType([*outer, n], _matmul_dtype(ctx, a))


def _turned(bb: Any, x: Any, turn: bool) -> Any:
    if not turn:
        return x
    rank = x.struct_info.ndim
    return bb.normalize_argument(R.permute_dims(x, [*range(rank - 2), rank - 1, rank - 2]))


@relay_op("nn.matmul", "MatmulAttrs", operands=("tensor_a", "tensor_b"), relation=_matmul_type,
          level=1, pattern=OUT_FUSABLE, optional={"units": REQUIRED},
          lower=lambda bb, a, b, *, units, out_dtype, transpose_a, transpose_b: R.matmul(
              _turned(bb, a, transpose_a), _turned(bb, b, transpose_b), out_dtype or None)
          )  # fmt: skip
def matmul(
    tensor_a: Expr, tensor_b: Expr, units: int | None = None, out_dtype: str = "",
    transpose_a: bool = False, transpose_b: bool = False,
) -> Any:  # fmt: skip
    """The product of two matrices, either of which may be turned."""
    if not transpose_a and transpose_b:  # the one form of it
        return dense(tensor_a, tensor_b, units, out_dtype)
    return matmul.call(
        tensor_a, tensor_b, units=units, out_dtype=out_dtype, transpose_a=transpose_a,
        transpose_b=transpose_b,
    )  # fmt: skip


def _batch_type(ctx: Relate) -> Type | None:
    a, b = tensor(ctx, 0), tensor(ctx, 1)
    if a is None or b is None:
        return None
    o, x, y = ctx.attrs, extents(a), extents(b)
    if len(x) != 3 or len(y) != 3:
        raise ctx.fail("operands of 3 dimensions are multiplied", "(batch, rows, columns)")
    m, k = (x[2], x[1]) if o.transpose_a else (x[1], x[2])
    n, k_b = (y[1], y[2]) if o.transpose_b else (y[2], y[1])
    if _differ(k, k_b):
        raise ctx.fail(f"inner extents {k} and {k_b} differ", "equal inner extents")
    batches_differ = _differ(x[0], y[0]) and 1 not in (x[0], y[0])
    if batches_differ:
        raise ctx.fail(f"batches {x[0]} and {y[0]} differ", "equal batches, or 1")
    batch = AnyDim() if is_any(x[0], y[0]) else y[0] if same_extent(x[0], 1) else x[0]
    return TensorType([batch, m, n], _matmul_dtype(ctx, a))


@relay_op("nn.batch_matmul", "BatchMatmulAttrs", operands=("tensor_a", "tensor_b"), level=10,
          relation=_batch_type, pattern=OUT_FUSABLE, optional={"transpose_b": False},
          lower=lambda bb, a, b, *, out_dtype, transpose_a, transpose_b: R.matmul(
              _turned(bb, a, transpose_a), _turned(bb, b, transpose_b), out_dtype or None)
          )  # fmt: skip
def batch_matmul(
    tensor_a: Expr, tensor_b: Expr, out_dtype: str = "", transpose_a: bool = False,
    transpose_b: bool = True,
) -> Call:  # fmt: skip
    """Products of matrices, one pair a batch."""
    return batch_matmul.call(
        tensor_a, tensor_b, out_dtype=out_dtype, transpose_a=transpose_a, transpose_b=transpose_b
    )


def _bias_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    axis = axis_of(ctx, int(ctx.attrs.axis), len(x.shape))
    vector(ctx, 1, extents(x)[axis], x.dtype)
    bias = tensor(ctx, 1)
    assert bias is not None, "known by now"
    if len(bias.shape) != 1 or _differ(extents(bias)[0], extents(x)[axis]):
        raise ctx.fail("the bias does not fit the axis", f"a vector of {extents(x)[axis]}")
    return x


def _bias_add(bb: Any, x: Any, b: Any, *, axis: int) -> Any:
    behind = x.struct_info.ndim - 1 - axis % x.struct_info.ndim
    if behind:
        b = bb.normalize_argument(R.expand_dims(b, list(range(1, behind + 1))))
    return R.add(x, b)


@relay_op("nn.bias_add", "BiasAddAttrs", operands=("data", "bias"), relation=_bias_type, level=1,
          pattern=BROADCAST, lower=_bias_add)  # fmt: skip
def bias_add(data: Expr, bias: Expr, axis: int = 1) -> Call:
    """A vector added along an axis."""
    return bias_add.call(data, bias, axis=axis)


def _flat_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    return TensorType((dims[0], product(dims[1:])), x.dtype)


@relay_op("nn.batch_flatten", relation=_flat_type, level=2, pattern=INJECTIVE,
          lower=lambda bb, x: bb.call_te(topi.nn.flatten, x))  # fmt: skip
def batch_flatten(data: Expr) -> Call:
    """All axes but the first as one."""
    return batch_flatten.call(data)
