"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.error import DTypeError, message
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, Tuple
from tvm.relax.extents import broadcast_shapes, extents_of, repeated
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import VOID, TensorStructInfo, TupleStructInfo
from tvm.support.dtype import DataType

from .binary import add
from .declare import (
    ALWAYS,
    OUT_FUSABLE,
    Array,
    Expr,
    Infer,
    attrs_class,
    dtype_or_void,
    relax_op,
    script_function,
    show_extent,
    show_shape,
    te,
    topi,
)
from .manipulate import permute_dims, tuple_items
from .shapes import broadcast_extents, check_ndim, common_dtype, is_one, like, values_of

MatmulAttrs = attrs_class("MatmulAttrs", "out_dtype")
EinsumAttrs = attrs_class("EinsumAttrs", "subscripts")
DTypeLike = DataType | str | None


@relax_op(
    "relax.matmul", "x1: Tensor, x2: Tensor", MatmulAttrs, pattern=OUT_FUSABLE, precision=ALWAYS
)
def matmul(x1: ExprLike, x2: ExprLike, out_dtype: DTypeLike = None) -> Call:
    """Matrix product; leading dimensions broadcast.   (..., n, k), (..., k, m) -> (..., n, m)"""
    return matmul.call(x1, x2, out_dtype=dtype_or_void(out_dtype))


@matmul.infer
def _matmul_info(
    ctx: Infer, x1: TensorStructInfo, x2: TensorStructInfo, *, out_dtype: DataType
) -> TensorStructInfo:
    dtype = common_dtype(ctx, ("x1", x1), ("x2", x2)) if out_dtype is VOID else out_dtype
    for name, info in (("x1", x1), ("x2", x2)):
        if info.ndim == 0:
            raise ctx.shape_error(f"{name} must have at least one dimension", "0", "1 or more")
    if x1.ndim == -1 or x2.ndim == -1:
        return like(x1, None, -1, dtype)
    kept_rows, kept_columns = x1.ndim > 1, x2.ndim > 1
    ndim = max(x1.ndim, x2.ndim, 2) - (not kept_rows) - (not kept_columns)
    a, b = x1.values, x2.values
    if a is None or b is None:
        return like(x1, None, ndim, dtype)
    inner_a, inner_b = a[-1], b[-2] if kept_columns else b[-1]
    if ctx.differ(inner_a, inner_b):
        raise ctx.shape_error(
            "inner dimensions differ",
            f"x1 {show_shape(x1)}, x2 {show_shape(x2)}; "
            f"{show_extent(inner_a)} is not {show_extent(inner_b)}",
            "the last extent of x1 equal to the last but one of x2",
        )
    batch = broadcast_extents(ctx, a[:-2], b[:-2])
    if batch is None:
        return like(x1, None, ndim, dtype)
    rows = (a[-2],) if kept_rows else ()
    columns = (b[-1],) if kept_columns else ()
    return like(x1, (*batch, *rows, *columns), dtype=dtype)


@matmul.fit
def _matmul_fit(bb: BlockBuilder, x1: Expr, x2: Expr, *, out_dtype: DataType) -> list[Expr]:
    """Batches that are broadcast."""
    a, b = extents_of(x1), extents_of(x2)
    if a is None or b is None:
        return [x1, x2]
    outer = broadcast_shapes(bb, [a[:-2], b[:-2]])
    return [
        repeated(bb, x, [*outer[len(outer) - len(own[:-2]) :], *own[-2:]])
        for x, own in ((x1, a), (x2, b))
    ]


def te_matmul(a: Any, b: Any, out_dtype: str) -> Any:
    """The product in tensor expressions, for any numbers of dimensions."""
    rows, columns = len(a.shape) > 1, len(b.shape) > 1
    batch_a, batch_b = a.shape[:-2], b.shape[:-2]
    longer = batch_a if len(batch_a) >= len(batch_b) else batch_b
    batch = [
        _batch_extent(batch_a, batch_b, i - len(longer)) for i in range(len(longer))
    ]
    k = te.reduce_axis((0, a.shape[-1]), name="k")
    shape = [*batch, *([a.shape[-2]] if rows else []), *([b.shape[-1]] if columns else [])]

    def element(*index: Any) -> Any:
        lead, rest = index[: len(batch)], list(index[len(batch) :])
        at_a = _batch_index(batch_a, batch_b, lead) + ([rest.pop(0)] if rows else []) + [k]
        at_b = _batch_index(batch_b, batch_a, lead) + [k] + ([rest.pop(0)] if columns else [])
        return te.sum(a(*at_a).astype(out_dtype) * b(*at_b).astype(out_dtype), axis=k)

    return te.compute(shape, element, name="matmul")


def _batch_extent(a: Sequence[PrimExpr], b: Sequence[PrimExpr], at: int) -> PrimExpr:
    if -at > len(a):
        return b[at]
    if -at > len(b):
        return a[at]
    return b[at] if is_one(a[at]) else a[at]


def _batch_index(
    own: Sequence[PrimExpr], other: Sequence[PrimExpr], lead: Sequence[Any]
) -> list[Any]:
    """Extents of 1 are read at 0 where the other operand has more."""
    found = []
    for at in range(-len(own), 0):
        alike = -at > len(other) or is_one(other[at])
        found.append(0 if is_one(own[at]) and not alike else lead[at])
    return found


@matmul.legalize
def _matmul_te(bb: BlockBuilder, x1: Expr, x2: Expr, *, out_dtype: DataType) -> Expr:
    result = bb.normalize(matmul.call(x1, x2, out_dtype=out_dtype)).struct_info
    dtype = str(getattr(result, "dtype", VOID))
    for operand in (x1, x2):
        if getattr(operand.struct_info, "dtype", VOID) is VOID:
            raise AssertionError(
                "To legalize R.matmul into R.call_tir, the dtype of both operands must be known. "
                f"However, the operands {x1} and {x2} have struct info {x1.struct_info} and "
                f"{x2.struct_info}."
            )
    if dtype == "bfloat16":  # sums of 8 binary digits would lose what is added
        wide = bb.emit(bb.call_te(te_matmul, x1, x2, "float32", primfunc_name_hint="matmul"))
        return bb.call_te(topi.cast, wide, dtype)
    return bb.call_te(te_matmul, x1, x2, dtype, primfunc_name_hint="matmul")


matmul.op.set_attr("RequiresArgumentDTypes", False)  # its rule says what it misses


@matmul.reference
def _matmul_numpy(x1: Array, x2: Array, *, out_dtype: DataType) -> Array:
    dtype = np.result_type(x1, x2) if out_dtype is VOID else numpy_dtype(out_dtype)
    wide = np.float32 if dtype.itemsize < 4 and dtype.kind in "fV" else dtype
    return np.matmul(x1.astype(wide), x2.astype(wide)).astype(dtype)


def linear(
    data: Expr, weight: Expr, bias: Expr | None = None, out_dtype: DTypeLike = None
) -> Expr:
    """data times the transposed weight, plus bias.   (..., k), (m, k), (m,) -> (..., m)"""
    product = matmul(data, permute_dims(weight), out_dtype=out_dtype)
    return product if bias is None else add(product, bias)


script_function("linear", linear)


@relax_op("relax.einsum", "operands: Tensors", EinsumAttrs)
def einsum(operands: Any, subscripts: str) -> Call:
    """The Einstein sum of the operands: `einsum((a, b), "ij,jk->ik")`."""
    if not isinstance(subscripts, str):
        raise DTypeError(message("einsum: subscripts are no text", found=f"{subscripts!r}"))
    given = operands if isinstance(operands, Expr) else Tuple(operands)
    return einsum.call(given, subscripts=subscripts)


@einsum.infer
def _einsum_info(ctx: Infer, operands: TupleStructInfo, *, subscripts: str) -> StructInfo:
    infos = [info for info in operands.fields if isinstance(info, TensorStructInfo)]
    dtype = common_dtype(ctx, *((f"operand {i}", info) for i, info in enumerate(infos)))
    if any(info.ndim == -1 for info in infos):
        return TensorStructInfo(None, dtype)
    inputs, output = _labels(ctx, subscripts, infos)
    extents: dict[str, PrimExpr] = {}
    for labels, info in zip(inputs, infos):
        values = values_of(info)
        if values is None:
            return TensorStructInfo(None, dtype, ndim=len(output))
        for label, extent in zip(labels, values):
            known = extents.setdefault(label, extent)
            if is_one(known):
                extents[label] = extent
            elif not is_one(extent) and ctx.differ(known, extent):
                raise ctx.shape_error(
                    f"the extents of label {label!r} differ", f"{known} and {extent}", "one extent"
                )
    if unknown := [label for label in output if label not in extents]:
        raise ctx.error(
            f"the result has the letter {unknown[0]!r}", f"{subscripts!r}", "letters of operands"
        )
    return TensorStructInfo([extents[label] for label in output], dtype)


def _labels(
    ctx: Infer, subscripts: str, infos: list[TensorStructInfo]
) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand's dimensions and of the result; `...` becomes digits."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(infos):
        raise ctx.error(
            "the subscripts do not fit the operands",
            f"{len(terms)} terms in {subscripts!r} for {len(infos)} operands",
            "one term for each operand",
        )
    inputs: list[list[str]] = []
    spread = 0
    for term, info in zip(terms, infos):
        letters = len(term.replace("...", ""))
        rest = info.ndim - letters
        if rest < 0 or (rest and "..." not in term):
            raise ctx.shape_error(
                f"term {term!r} does not fit its operand", f"{info.ndim} dimensions", f"{letters}"
            )
        head, _, tail = term.partition("...")
        inputs.append([*head, *_digits(rest), *tail])
        spread = max(spread, rest)
    if arrow:
        head, dots, tail = right.partition("...")
        return inputs, [*head, *(_digits(spread) if dots else []), *tail]
    letters_seen = [label for term in inputs for label in term if label.isalpha()]
    once = sorted(label for label in set(letters_seen) if letters_seen.count(label) == 1)
    return inputs, [*_digits(spread), *once]


def _digits(count: int) -> list[str]:
    """Labels for the dimensions of `...`, counted from the last."""
    return [str(i) for i in range(count - 1, -1, -1)]


@einsum.legalize
def _einsum_te(bb: BlockBuilder, operands: Expr, *, subscripts: str) -> Expr:
    return bb.call_te(topi.einsum, subscripts, *tuple_items(bb, operands))


@einsum.reference
def _einsum_numpy(operands: tuple[Array, ...], *, subscripts: str) -> Array:
    dtype = np.result_type(*operands)
    if dtype.kind != "V":
        return np.asarray(np.einsum(subscripts, *operands))
    wide = [x.astype(np.float32) for x in operands]  # numpy sums no types of others
    return np.asarray(np.einsum(subscripts, *wide)).astype(dtype)


@relax_op("relax.outer", "x1: Tensor, x2: Tensor", pattern=OUT_FUSABLE, precision=ALWAYS)
def outer(x1: ExprLike, x2: ExprLike) -> Call:
    """Every element of x1 times every one of x2.   (n,), (m,) -> (n, m)"""
    return outer.call(x1, x2)


@outer.infer
def _outer_info(ctx: Infer, x1: TensorStructInfo, x2: TensorStructInfo) -> TensorStructInfo:
    check_ndim(ctx, "x1", x1, 1)
    check_ndim(ctx, "x2", x2, 1)
    dtype = common_dtype(ctx, ("x1", x1), ("x2", x2))
    if x1.values is None or x2.values is None:
        return like(x1, None, 2, dtype)
    return like(x1, (x1.values[0], x2.values[0]), dtype=dtype)


@outer.legalize
def _outer_te(bb: BlockBuilder, x1: Expr, x2: Expr) -> Expr:
    def compute(a: Any, b: Any) -> Any:
        shape = (a.shape[0], b.shape[0])
        return te.compute(shape, lambda i, j: a[i] * b[j], name="outer")

    return bb.call_te(compute, x1, x2, primfunc_name_hint="outer")


outer.reference(lambda x1, x2: np.outer(x1, x2))

__all__ = ["einsum", "linear", "matmul", "outer", "te_matmul"]
