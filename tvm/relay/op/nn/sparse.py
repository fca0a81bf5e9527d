"""Products and sums with sparse matrices: rows of entries, or of blocks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relay.expr import Call, TupleWrapper, const
from tvm.relay.op.declare import OUT_FUSABLE, Expr, Relate, relay_op, topi
from tvm.relay.op.refusals import refusing
from tvm.relay.op.relations import extents, tensor
from tvm.relay.ty import TensorType


def _rows(ctx: Relate, entries: int, starts: int) -> Any:
    """The height of a sparse matrix; None while a type is open."""
    values, ends = tensor(ctx, entries), tensor(ctx, starts)
    if values is None or ends is None:
        return None
    dims = extents(values)
    if len(dims) not in (1, 3):
        raise ctx.fail("the entries are neither single (CSR) nor blocks (BSR)", "(n,) or (n, r, c)")
    return (extents(ends)[0] - 1) * (dims[1] if len(dims) == 3 else 1)


def _dense_type(ctx: Relate) -> Type | None:
    first = 0 if ctx.attrs.sparse_lhs else 1
    x, rows = tensor(ctx, 3 if ctx.attrs.sparse_lhs else 0), _rows(ctx, first, first + 2)
    if x is None or rows is None:
        return None
    height = extents(x)[0]
    return TensorType((rows, height) if ctx.attrs.sparse_lhs else (height, rows), x.dtype)


def _dense(bb: Any, *args: Any, sparse_lhs: bool) -> Any:
    if sparse_lhs:
        return bb.call_te(topi.sparse.product, args[3], *args[:3], True)
    return bb.call_te(topi.sparse.product, *args, False)


@relay_op("nn.sparse_dense", "SparseDenseAttrs", operands=("a", "b", "c", "d"), level=1,
          relation=_dense_type, lower=_dense, pattern=OUT_FUSABLE)  # fmt: skip
def _sparse_dense(a: Expr, b: Expr, c: Expr, d: Expr, sparse_lhs: bool = False) -> Call:
    """A product with a sparse matrix."""
    return _sparse_dense.call(a, b, c, d, sparse_lhs=sparse_lhs)


def _parts(matrix: Any) -> list[Any]:
    """Entries, columns and starts of rows: of a tuple of three, or of a matrix of SciPy."""
    if hasattr(matrix, "indptr"):
        return [const(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
    return [matrix[at] for at in range(3)]


@refusing
def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """`dense_mat` (m, k) times the transpose of `sparse_mat` (n, k), (m, n).

    With `sparse_lhs`, `sparse_mat` times the transpose of `dense_mat`.
    """
    data, indices, indptr = _parts(sparse_mat)
    made: Call = (
        _sparse_dense(data, indices, indptr, dense_mat, True) if sparse_lhs
        else _sparse_dense(dense_mat, data, indices, indptr, False)
    )  # fmt: skip
    return made


def _conv_type(ctx: Relate) -> Type | None:
    x, filters = tensor(ctx, 0), _rows(ctx, 1, 3)
    if x is None or filters is None:
        return None
    if len(x.shape) != 4:
        raise ctx.fail(f"data of {len(x.shape)} dimensions", f"four, {ctx.attrs.layout}")
    dims = extents(x)
    dims[3 if ctx.attrs.layout == "NHWC" else 1] = filters
    return TensorType(dims, x.dtype)


def _conv(bb: Any, x: Any, *parts: Any, layout: str, kernel_size: int) -> Any:
    """Each window as a row, times the sparse matrix."""
    if layout == "NCHW":
        x = bb.normalize_argument(R.permute_dims(x, [0, 2, 3, 1]))
    n, h, w, c = x.struct_info.shape.values
    if kernel_size > 1:
        border = kernel_size // 2
        wide = bb.normalize_argument(R.nn.pad(x, [0, 0, *([border] * 4), 0, 0]))
        taps = [(y, z) for y in range(kernel_size) for z in range(kernel_size)]
        windows = [
            bb.normalize_argument(R.strided_slice(wide, [1, 2], [y, z], [h + y, w + z]))
            for y, z in taps
        ]
        x = bb.normalize_argument(R.concat(windows, -1))
    rows = bb.normalize_argument(R.reshape(x, (n * h * w, c * kernel_size * kernel_size)))
    product = bb.normalize_argument(bb.call_te(topi.sparse.product, rows, *parts, False))
    made = R.reshape(product, (n, h, w, product.struct_info.shape[1]))
    if layout == "NHWC":
        return made
    return R.permute_dims(bb.normalize_argument(made), [0, 3, 1, 2])


@relay_op("nn.sparse_conv2d", "SparseConv2DAttrs", level=1, relation=_conv_type, lower=_conv,
          operands=("dense_data", "sparse_data", "sparse_indices", "sparse_indptr"),
          pattern=OUT_FUSABLE)  # fmt: skip
def _sparse_conv2d(
    dense_data: Expr, sparse_data: Expr, sparse_indices: Expr, sparse_indptr: Expr,
    layout: str = "NHWC", kernel_size: int = 1,
) -> Call:  # fmt: skip
    """A convolution with a sparse kernel."""
    return _sparse_conv2d.call(
        dense_data, sparse_data, sparse_indices, sparse_indptr, layout=layout,
        kernel_size=int(kernel_size),
    )  # fmt: skip


def sparse_conv2d(
    dense_mat: Expr, sparse_mat: Any, layout: str = "NHWC", kernel_size: int = 1
) -> Call:
    """A convolution of stride one that keeps height and width, with a sparse kernel.

    The kernel is a sparse matrix (o, kernel_size * kernel_size * c).
    """
    data, indices, indptr = _parts(sparse_mat)
    made: Call = _sparse_conv2d(dense_mat, data, indices, indptr, layout, kernel_size)
    return made


@relay_op("nn.sparse_add", operands=("dense_mat", "data", "indices", "indptr"), level=1,
          relation=lambda ctx: tensor(ctx, 0),
          lower=lambda bb, *args: bb.call_te(topi.sparse.add, *args))  # fmt: skip
def _sparse_add(dense_mat: Expr, data: Expr, indices: Expr, indptr: Expr) -> Call:
    """A sum with a sparse matrix."""
    return _sparse_add.call(dense_mat, data, indices, indptr)


@refusing
def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call:
    """A matrix plus a sparse one of the same shape."""
    made: Call = _sparse_add(dense_mat, *_parts(sparse_mat))
    return made


def _transpose_type(ctx: Relate) -> Type | None:
    from tvm.ir.type import TupleType

    found = [tensor(ctx, at) for at in range(3)]
    return None if None in found else TupleType(found)  # type: ignore[arg-type]


@relay_op("nn.sparse_transpose", operands=("data", "indices", "indptr"), level=1,
          relation=_transpose_type,
          lower=lambda bb, *args: bb.call_te(topi.sparse.transpose, *args),
          pattern=OUT_FUSABLE)  # fmt: skip
def _sparse_transpose(data: Expr, indices: Expr, indptr: Expr) -> Call:
    """The transpose of a square sparse matrix."""
    return _sparse_transpose.call(data, indices, indptr)


@refusing
def sparse_transpose(x: Any) -> TupleWrapper:
    """The transpose of a square sparse matrix: entries, columns, starts of rows."""
    return TupleWrapper(_sparse_transpose(*_parts(x)), 3)


def _bits(value: Any) -> tuple[int, ...]:
    return (int(value),) * 2 if isinstance(value, int) else tuple(int(v) for v in value)


def _bitserial(bb: Any, x: Any, w: Any, **o: Any) -> Any:
    func = {
        "NCHW": topi.nn.bitserial_conv2d_nchw, "NHWC": topi.nn.bitserial_conv2d_nhwc,
    }[o["data_layout"]]  # fmt: skip
    return bb.call_te(
        func, x, w, list(o["strides"]), list(o["padding"]), o["activation_bits"],
        o["weight_bits"], o["pack_dtype"], o["out_dtype"], o["unipolar"],
    )  # fmt: skip


@relay_op("nn.bitserial_conv2d", "BinaryConv2DAttrs", operands=("data", "weight"), level=2,
          lower=_bitserial, pattern=OUT_FUSABLE)  # fmt: skip
def bitserial_conv2d(
    data: Expr, weight: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    channels: int | None = None, kernel_size: Any = (3, 3), activation_bits: int = 1,
    weight_bits: int = 1, data_layout: str = "NCHW", kernel_layout: str = "OIHW",
    pack_dtype: str = "uint32", out_dtype: str = "int16", unipolar: bool = True,
) -> Call:  # fmt: skip
    """A convolution of integers of few bits, bit plane by bit plane."""
    if data_layout not in ("NCHW", "NHWC"):
        raise ValueError(f"bitserial_conv2d: data_layout {data_layout!r}; legal: NCHW, NHWC")
    return bitserial_conv2d.call(
        data, weight, strides=_bits(strides), padding=_bits(padding), channels=channels,
        kernel_size=_bits(kernel_size), activation_bits=activation_bits, weight_bits=weight_bits,
        data_layout=data_layout, kernel_layout=kernel_layout, pack_dtype=pack_dtype,
        out_dtype=out_dtype, unipolar=unipolar,
    )  # fmt: skip


def _bitserial_dense_type(ctx: Relate) -> Type | None:
    x, weight = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or weight is None:
        return None
    units = extents(weight)[0] if ctx.attrs.units is None else int(ctx.attrs.units)
    return TensorType([*extents(x)[:-1], units], ctx.attrs.out_dtype)


@relay_op("nn.bitserial_dense", "BinaryDenseAttrs", operands=("data", "weight"), level=1,
          relation=_bitserial_dense_type,
          lower=lambda bb, x, w, *, units, data_bits, weight_bits, pack_dtype, out_dtype, unipolar:
          bb.call_te(topi.nn.bitserial_dense, x, w, data_bits, weight_bits, pack_dtype,
                     out_dtype, unipolar), pattern=OUT_FUSABLE)  # fmt: skip
def bitserial_dense(
    data: Expr, weight: Expr, units: int | None = None, data_bits: int = 1, weight_bits: int = 1,
    pack_dtype: str = "uint32", out_dtype: str = "int16", unipolar: bool = True,
) -> Call:  # fmt: skip
    """A product of integers of few bits, bit plane by bit plane."""
    return bitserial_dense.call(
        data, weight, units=units, data_bits=data_bits, weight_bits=weight_bits,
        pack_dtype=pack_dtype, out_dtype=out_dtype, unipolar=unipolar,
    )  # fmt: skip


__all__: Sequence[str] = [
    "bitserial_conv2d", "bitserial_dense", "sparse_add", "sparse_conv2d", "sparse_dense",
    "sparse_transpose",
]  # fmt: skip
