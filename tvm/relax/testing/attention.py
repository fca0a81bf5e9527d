"""Modules of one attention, from separate operands or from one stacked tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Var, const
from tvm.relax.struct_info import TensorStructInfo


def get_relax_attention_module(
    q_shape: Sequence[Any],
    k_shape: Sequence[Any],
    v_shape: Sequence[Any],
    *,
    dtype: str,
    bias_shape: Sequence[Any] | None = None,
    qk_scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> IRModule:
    """`main(q, k, v, bias?)`: the attention of q to k and v."""
    shapes = {"q": q_shape, "k": k_shape, "v": v_shape}
    if bias_shape is not None and bias_shape != "none":
        shapes["bias"] = bias_shape
    params = [Var(name, TensorStructInfo(shape, dtype)) for name, shape in shapes.items()]
    q, k, v, *bias = params
    bb = BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            attention = op.nn.attention(q, k, v, _bias(bias), qk_scale, causal_mask, window_size)
            output = bb.emit_output(attention)
        bb.emit_func_output(output)
    return bb.get()


def get_relax_attention_rewrite_module(
    q_shape: Sequence[Any],
    k_shape: Sequence[Any],
    v_shape: Sequence[Any],
    out_shape: Sequence[Any],
    dtype: str,
    bias_shape: Sequence[Any] | None = None,
    scale: float | None = None,
) -> IRModule:
    """`main(q, k, v, bias?)`: attention written out in products and a softmax.

    Operands and result are (b, s, n, h), transposed and folded on the way, or (b, s, h) as they
    are.
    """
    shapes = {"q": q_shape, "k": k_shape, "v": v_shape}
    params = [Var(name, TensorStructInfo(shape, dtype)) for name, shape in shapes.items()]
    if bias_shape is not None:
        params.append(Var("bias", TensorStructInfo(bias_shape, dtype)))
    bb = BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            q, k, v = (_folded(bb, x, shape) for x, shape in zip(params, shapes.values()))
            transposed = bb.emit(op.permute_dims(k, [0, 2, 1]))
            scores: RelaxExpr = bb.emit(op.matmul(q, transposed))
            if scale is not None:
                scores = bb.emit(op.multiply(scores, const(scale, dtype)))
            if bias_shape is not None:
                scores = bb.emit(op.add(scores, params[3]))
            weights = bb.emit(op.nn.softmax(scores, axis=-1))
            result = op.matmul(weights, v)
            if len(out_shape) == 4:
                b, s, n, h = out_shape
                folded = bb.emit(op.reshape(bb.emit(result), [b, n, s, h]))
                result = op.permute_dims(folded, [0, 2, 1, 3])
            output = bb.emit_output(result)
        bb.emit_func_output(output)
    return bb.get()


def _folded(bb: BlockBuilder, x: Var, shape: Sequence[Any]) -> RelaxExpr:
    if len(shape) == 3:
        return x
    b, s, n, h = shape
    return bb.emit(op.reshape(bb.emit(op.permute_dims(x, [0, 2, 1, 3])), [b * n, s, h]))


def get_relax_stacked_attention_module(
    qkv: Any,
    b: int,
    s: int,
    n: int,
    h: int,
    h_v: int,
    op: str,
    bias: Any = None,
    qk_scale: float | None = None,
    single_shape: bool = False,
    layout: str = "BS3NH",
) -> IRModule:
    """`main(qkv, bias?)`: q, k and v are cut from one tensor by `op`: "split", "strided_slice".

    Layout "BS3NH" is (b, s, n*h + n*h + n*h_v), with a result (b, s, n, h_v); layout "SBN3H" is
    (s, b, n, h + h + h_v), with a result (s, b, n, h_v).
    With `single_shape` one shape serves all three, which asks for h_v = h.
    """
    dtype = str(qkv.dtype)
    params = [Var("qkv", TensorStructInfo(qkv.shape, dtype))]
    if bias is not None:
        params.append(Var("bias", TensorStructInfo(bias.shape, dtype)))
    bb = BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            if layout == "BS3NH":
                parts = _cut(bb, params[0], op, 2, [n * h, n * h, n * h_v])
                shapes = [(b, s, n, h), (b, s, n, h), (b, s, n, h if single_shape else h_v)]
                q, k, v = (bb.emit(_op().reshape(x, to)) for x, to in zip(parts, shapes))
            elif layout == "SBN3H":
                parts = _cut(bb, params[0], op, 3, [h, h, h_v])
                q, k, v = (bb.emit(_op().permute_dims(x, (1, 0, 2, 3))) for x in parts)
            else:
                raise TVMError(_unknown("layout", layout, "BS3NH, SBN3H"))
            result = _op().nn.attention(q, k, v, _bias(params[1:]), qk_scale)
            if layout == "SBN3H":
                result = _op().permute_dims(bb.emit(result), (1, 0, 2, 3))
            output = bb.emit_output(result)
        bb.emit_func_output(output)
    return bb.get()


def _bias(rest: Sequence[Var]) -> Var | None:
    return rest[0] if rest else None


def _op() -> Any:
    # TVM's name for the way to cut, `op`, hides the module
    return op


def _cut(
    bb: BlockBuilder, stacked: RelaxExpr, how: str, axis: int, sizes: Sequence[int]
) -> Iterator[RelaxExpr]:
    """Three parts of the given sizes along an axis, each cut when it is asked for."""
    first, second = sizes[0], sizes[0] + sizes[1]
    if how == "split":
        both = bb.emit(op.split(stacked, [first, second], axis=axis))
        yield from (bb.emit(both[i]) for i in range(3))
    elif how == "strided_slice":
        ends = [0, first, second, second + sizes[2]]
        for begin, end in pairwise(ends):
            yield bb.emit(op.strided_slice(stacked, [axis], [begin], [end], [1]))
    else:
        raise TVMError(_unknown("way to cut", how, "split, strided_slice"))


def _unknown(what: str, found: str, legal: str) -> str:
    return message(f"stacked attention: unknown {what}", found=found, legal=legal)


__all__ = [
    "get_relax_attention_module", "get_relax_attention_rewrite_module",
    "get_relax_stacked_attention_module",
]  # fmt: skip
