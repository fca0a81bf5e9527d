"""Operators that are products of matrices become such, in the form that GPUs have kernels for.

    y = R.nn.attention(q, k, v)
    ->
    scores = R.matmul(q by heads, k by heads, turned, out_dtype="float32") * scale
    y = R.matmul(R.nn.softmax(scores).astype("float16"), v by heads), heads last

Products of half floats are summed as float32, as their units do at the same speed: a sum of
thousands of them loses its last digits otherwise.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rewrite_calls
from tvm.tir.expr import IntImm

_HALVES: Final = ("float16", "bfloat16")


@relax_pass("AttentionAsProducts")
def AttentionAsProducts(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No attention of known extents is left in blocks of the function's own."""
    rules = {"relax.nn.attention": _attention, "relax.nn.attention_bias": _attention}
    return rewrite_calls(func, rules, BlockBuilder(mod))


@relax_pass("WideSums")
def WideSums(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Products of half floats are summed as float32 and then rounded once."""
    return rewrite_calls(func, {"relax.matmul": _wide}, BlockBuilder(mod))


def _wide(bb: BlockBuilder, call: Call) -> RelaxExpr:
    info = call.struct_info
    inputs = [arg.struct_info for arg in call.args]
    if not isinstance(info, TensorStructInfo) or str(info.dtype) not in _HALVES:
        return call
    if any(not isinstance(i, TensorStructInfo) or i.dtype != info.dtype or i.ndim < 2
           for i in inputs):  # fmt: skip
        return call
    rows = info.values[-2] if info.values is not None and info.ndim >= 2 else None
    if rows is None or (isinstance(rows, IntImm) and rows.value == 1):
        return call  # kernels for vectors keep a partial sum a thread
    product = bb.emit(op.matmul(call.args[0], call.args[1], out_dtype="float32"))
    return op.astype(product, str(info.dtype))


def _attention(bb: BlockBuilder, call: Call) -> RelaxExpr:
    query, key, value, *rest = call.args
    info, other = query.struct_info, key.struct_info
    if not isinstance(info, TensorStructInfo) or not isinstance(other, TensorStructInfo):
        return call
    if info.values is None or other.values is None:
        return call
    (_, s, _, h), (_, t, _, _) = info.values, other.values
    if not isinstance(h, IntImm):
        return call
    attrs: Any = call.attrs
    dtype = str(info.dtype)
    kind = "float32" if dtype in _HALVES else dtype

    def emit(expr: RelaxExpr) -> Any:
        return bb.emit(expr)

    q = emit(op.permute_dims(query, [0, 2, 1, 3]))
    k = emit(op.permute_dims(key, [0, 2, 3, 1]))
    v = emit(op.permute_dims(value, [0, 2, 1, 3]))
    scores = emit(op.matmul(q, k, out_dtype=kind))
    scale = 1 / math.sqrt(h.value) if attrs["scale"] is None else float(attrs["scale"])
    scores = emit(op.multiply(scores, Constant(np.asarray(scale, kind))))
    if rest:
        bias = rest[0] if kind == dtype else emit(op.astype(rest[0], kind))
        scores = emit(op.add(scores, bias))
    if attrs["causal_mask"] is not None or attrs["window_size"] is not None:
        scores = _masked(emit, scores, s, t, attrs, kind)
    weights = emit(op.nn.softmax(scores, -1))
    if kind != dtype:
        weights = emit(op.astype(weights, dtype))
    mixed = emit(op.matmul(weights, v))
    return op.permute_dims(mixed, [0, 2, 1, 3])


def _masked(emit: Any, scores: Any, s: Any, t: Any, attrs: Any, kind: str) -> Any:
    """The lowest number where a row may not look."""
    offset = t - s if attrs["causal_mask"] == "BottomRight" else 0
    rows = emit(op.reshape(emit(op.arange(offset, s + offset, 1, "int64")), [s, 1]))
    columns = emit(op.reshape(emit(op.arange(0, t, 1, "int64")), [1, t]))
    seen = emit(op.less_equal(columns, rows))
    if attrs["window_size"] is not None:
        first = emit(op.subtract(rows, Constant(np.asarray(int(attrs["window_size"]), "int64"))))
        seen = emit(op.logical_and(seen, emit(op.greater(columns, first))))
    lowest = Constant(np.asarray(np.finfo(kind).min, kind))
    return emit(op.where(seen, scores, lowest))
