"""Attention and encoder layers in one call, as torch runs them where nothing is trained."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.extents import agreeing
from tvm.tir.expr import IntImm

from .activation import gelu
from .attention import multi_head_attention_forward
from .linear import linear
from .normalize import layer_norm
from .registry import convert
from .values import Expr, cast, length, rank, refuse

_OF_QUERIES, _OF_KEYS, _OF_ALL = range(3)  # what a mask of torch's fast attention belongs to


@convert("_native_multi_head_attention")
def native_multi_head_attention(
    bb: BlockBuilder,
    query: Expr,
    key: Expr,
    value: Expr,
    embed_dim: int,
    num_head: int,
    qkv_weight: Expr,
    qkv_bias: Expr,
    proj_weight: Expr,
    proj_bias: Expr,
    mask: Expr | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """(batch, length, width): project, attend by heads, project; the weights, if asked for.

    Elements of the mask that are not zero are not looked at.
    """
    among, padding = None, None
    if mask is not None:
        hidden = cast(bb, mask, "bool")
        if mask_type == _OF_KEYS:
            padding = hidden
        elif mask_type in (_OF_QUERIES, _OF_ALL):
            among = hidden
        else:
            raise refuse("multi_head_attention: mask_type", repr(mask_type), "0, 1 or 2")
    given = [_of_width(bb, x, embed_dim) for x in (query, key, value)]
    turned = [bb.emit(op.permute_dims(x, [1, 0, 2])) for x in given]
    made, chances = multi_head_attention_forward(
        bb, *turned, embed_dim, num_head, qkv_weight, qkv_bias, None, None, False, 0.0,
        proj_weight, proj_bias, False, padding, need_weights, among,
        average_attn_weights=average_attn_weights,
    )  # fmt: skip
    return bb.emit(op.permute_dims(made, [1, 0, 2])), chances


def _of_width(bb: BlockBuilder, x: Expr, width: int) -> Expr:
    """The input, whose last extent is that of the weights; checked where it is a symbol."""
    lead: list[PrimExpr | None] = [None] * (rank(x) - 1)
    return agreeing(bb, x, [*lead, IntImm("int64", width)])


@convert("_transformer_encoder_layer_fwd")
def transformer_encoder_layer(
    bb: BlockBuilder,
    src: Expr,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Expr,
    qkv_bias: Expr,
    proj_weight: Expr,
    proj_bias: Expr,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Expr,
    norm_bias_1: Expr,
    norm_weight_2: Expr,
    norm_bias_2: Expr,
    ffn_weight_1: Expr,
    ffn_bias_1: Expr,
    ffn_weight_2: Expr,
    ffn_bias_2: Expr,
    mask: Expr | None = None,
    mask_type: int | None = None,
) -> Any:
    """(batch, length, width): attention, then two products with an activation between.

    Each is added to what it reads; the norms come before them, or behind the sums.
    """
    src = _of_width(bb, src, embed_dim)
    width = [length(norm_weight_1, 0, "encoder layer: norm_weight_1")]

    def first(x: Expr) -> Expr:
        return bb.emit(layer_norm(bb, x, width, norm_weight_1, norm_bias_1, eps))

    def second(x: Expr) -> Expr:
        return bb.emit(layer_norm(bb, x, width, norm_weight_2, norm_bias_2, eps))

    read = first(src) if norm_first else src
    attended, _ = native_multi_head_attention(
        bb, read, read, read, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
        mask, False, True, mask_type,
    )  # fmt: skip
    summed = bb.emit(op.add(src, attended))
    x = summed if norm_first else first(summed)
    hidden = bb.emit(linear(bb, second(x) if norm_first else x, ffn_weight_1, ffn_bias_1))
    active = bb.emit(gelu(bb, hidden) if use_gelu else op.nn.relu(hidden))
    made = bb.emit(op.add(x, bb.emit(linear(bb, active, ffn_weight_2, ffn_bias_2))))
    return made if norm_first else second(made)
