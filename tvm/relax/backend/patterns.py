"""Patterns of what libraries commonly take over.

Each maker gives the pattern and its parts by name, the operator at the heart of it as "root".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tvm.error import TVMError
from tvm.relax.dpl.pattern import (
    DFPattern,
    is_const,
    is_op,
    is_tuple_get_item,
    wildcard,
)

Annotated: TypeAlias = tuple[DFPattern, Mapping[str, DFPattern]]


def _finished(
    out: DFPattern, parts: dict[str, DFPattern], with_bias: bool, activation: str | None
) -> Annotated:
    """`out` with a bias added and an activation around it, where these are wanted."""
    if with_bias:
        parts["bias"] = wildcard()
        out = is_op("relax.add")(out, parts["bias"])
    if activation is not None:
        out = is_op(activation)(out)
    return out, parts


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> Annotated:
    """An operator of two operands ("lhs", "rhs"), with "bias" and activation if wanted."""
    lhs, rhs = wildcard(), wildcard()
    out = is_op(op_name)(lhs, rhs)
    return _finished(out, {"lhs": lhs, "rhs": rhs, "root": out}, with_bias, activation)


def make_residual_block_pattern(
    node_output: DFPattern | Annotated,
    binary_op: str = "relax.add",
    activation: str | None = None,
) -> Annotated:
    """What `node_output` matches combined with a "residual", on either side, and an activation."""
    parts: Mapping[str, DFPattern] = {}
    if isinstance(node_output, tuple):
        node_output, parts = node_output
    residual = wildcard()
    combine = is_op(binary_op)
    out: DFPattern = combine(node_output, residual) | combine(residual, node_output)
    if activation is not None:
        out = is_op(activation)(out)
    return out, {**parts, "residual": residual}


def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Annotated:
    """A convolution, with "bias" and activation if wanted."""
    return make_fused_bias_activation_pattern("relax.nn.conv2d", with_bias, activation)


def _matmul(transposed_rhs: bool) -> tuple[DFPattern, dict[str, DFPattern]]:
    lhs, rhs = wildcard(), wildcard()
    right: DFPattern = is_op("relax.permute_dims")(rhs) if transposed_rhs else rhs
    out = is_op("relax.matmul")(lhs, right)
    return out, {"lhs": lhs, "rhs": rhs, "root": out}


def make_matmul_pattern(
    with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False
) -> Annotated:
    """A product of matrices, the right one transposed before if wanted."""
    out, parts = _matmul(transposed_rhs)
    return _finished(out, parts, with_bias, activation)


def make_matmul_dequantize_pattern(transposed_rhs: bool = False) -> Annotated:
    """A product of matrices and its dequantization by a constant "scale" and "zp"."""
    out, parts = _matmul(transposed_rhs)
    parts["scale"], parts["zp"] = is_const(), is_const()
    return is_op("relax.dequantize")(out, parts["scale"], parts["zp"]), parts


def make_matmul_multiply_pattern(transposed_rhs: bool = False) -> Annotated:
    """A product of matrices times two scales of one element ("scaleA", "scaleB"), then a cast."""
    out, parts = _matmul(transposed_rhs)
    parts["scaleA"], parts["scaleB"] = wildcard(), wildcard()
    scale = is_op("relax.multiply")(
        parts["scaleA"].has_shape((1,)), parts["scaleB"].has_shape((1,))
    )
    return is_op("relax.astype")(is_op("relax.multiply")(out, scale)), parts


def make_attention_pattern(with_bias: bool = False, var_len: bool = False) -> Annotated:
    """Attention, with a "bias", or over sequences of several lengths."""
    parts: dict[str, DFPattern] = {name: wildcard() for name in ("query", "key", "value")}
    op = "relax.nn.attention"
    if with_bias:
        op = "relax.nn.attention_bias"
        parts["bias"] = wildcard()
    elif var_len:
        op = "relax.nn.attention_var_len"
        for name in ("seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"):
            parts[name] = wildcard()
    return is_op(op)(*parts.values()), parts


def make_stacked_attention_pattern(
    start_op: str, with_bias: bool = False, layout: str = "BS3NH"
) -> Annotated:
    """Attention over one tensor ("stacked_qkv") that is cut in three by `start_op`.

    `start_op` is split or strided_slice; the pieces are reshaped (layout BS3NH) or transposed
    (SBN3H).
    """
    stacked = wildcard()
    parts: dict[str, DFPattern] = {"stacked_qkv": stacked}
    names = ("query", "key", "value")
    pieces: list[DFPattern] = []
    if start_op == "split":
        parts["split"] = is_op("relax.split")(stacked)
        pieces = [is_tuple_get_item(parts["split"], i) for i in range(3)]
    elif start_op == "strided_slice":
        for name in names:
            cut = is_op("relax.strided_slice")(stacked, varg_default_wildcard=True)
            parts[f"strided_slice_{name}"] = cut
            pieces.append(cut)
    else:
        raise TVMError(
            f"make_stacked_attention_pattern: start_op is {start_op!r}; "
            "legal: 'split', 'strided_slice'"
        )
    operands: list[DFPattern] = []
    for name, piece in zip(names, pieces):
        if layout == "BS3NH":
            shape = parts[f"{name}_reshape_list"] = wildcard()
            operands.append(is_op("relax.reshape")(piece, shape))
        elif layout == "SBN3H":
            parts[f"{name[0]}_transpose"] = is_op("relax.permute_dims")(piece)
            operands.append(parts[f"{name[0]}_transpose"])
        else:
            raise TVMError(
                f"make_stacked_attention_pattern: layout is {layout!r}; legal: 'BS3NH', 'SBN3H'"
            )
    if with_bias:
        parts["bias"] = wildcard()
        return is_op("relax.nn.attention_bias")(*operands, parts["bias"]), parts
    return is_op("relax.nn.attention")(*operands), parts


def make_layer_norm_pattern() -> Annotated:
    """A layer normalisation."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_rms_norm_pattern() -> Annotated:
    """A normalisation by the root of the mean square."""
    return is_op("relax.nn.rms_norm")(wildcard(), wildcard()), {}
