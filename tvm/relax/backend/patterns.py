"""Patterns of what libraries commonly take over.

Each maker gives the pattern and its parts by name, the operator at the heart of it as "root".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tvm.error import TVMError
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax.dpl.pattern import (
    DFPattern,
    GlobalVarPattern,
    TuplePattern,
    is_const,
    is_op,
    is_tuple_get_item,
    wildcard,
)
from tvm.relax.expr import Constant
from tvm.relax.op.manipulate import reshape
from tvm.relax.op.nn.attention import attention
from tvm.relax.shape_math import same_shape
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import IntImm

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
    """A convolution of "input" by "weight", with "bias" and activation if wanted."""
    out, parts = make_fused_bias_activation_pattern("relax.nn.conv2d", with_bias, activation)
    names = {"lhs": "input", "rhs": "weight"}
    return out, {names.get(name, name): part for name, part in parts.items()}


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

    `start_op` is split or strided_slice; the pieces are reshaped (layout BS3NH), or they and the
    result are transposed (SBN3H).
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
    out: DFPattern
    if with_bias:
        parts["bias"] = wildcard()
        out = is_op("relax.nn.attention_bias")(*operands, parts["bias"])
    else:
        out = is_op("relax.nn.attention")(*operands)
    return (is_op("relax.permute_dims")(out) if layout == "SBN3H" else out), parts


def make_layer_norm_pattern() -> Annotated:
    """A layer normalisation."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_rms_norm_pattern() -> Annotated:
    """A call of a kernel with a tensor and a weight; its name says whether it is this norm."""
    kernel, inp = GlobalVarPattern(), wildcard()
    out = is_op("relax.call_tir")(kernel, TuplePattern([inp, wildcard()]))
    return out, {"gv": kernel, "inp": inp, "rms_norm": out}


def make_attention_rewrite_pattern(
    qkv_layout: str,
    out_layout: str,
    with_bias: bool,
    with_cast: bool,
    with_kv_repeat: bool = False,
) -> tuple[DFPattern, Rule]:
    """Attention written out in products and a softmax, and a rule for `rewrite_call` that joins it.

    Operands of layout BSNH are transposed and folded to three dimensions on the way, those of BSH
    have one head and are taken as they are; so for the result. `with_cast` expects the softmax in
    another type, `with_kv_repeat` keys and values that are repeated over the heads.
    """
    written = _WrittenOut(qkv_layout, out_layout, with_bias, with_cast, with_kv_repeat)
    return written.pattern, written.rule


Rule: TypeAlias = Callable[[RelaxExpr, Mapping[DFPattern, RelaxExpr]], RelaxExpr]


class _Operand:
    """One of query, key and value, from where it enters to the product."""

    def __init__(self, layout: str, transposed: bool, repeated: bool) -> None:
        self.tensor: DFPattern = wildcard()
        self.entry: DFPattern = is_op("relax.repeat")(self.tensor) if repeated else self.tensor
        self.permuted: DFPattern | None = None
        self.folded: DFPattern = self.entry
        if layout == "BSNH":
            self.permuted = is_op("relax.permute_dims")(self.entry)
            self.permuted = self.permuted.has_attr({"axes": [0, 2, 1, 3]})
            self.folded = is_op("relax.reshape")(self.permuted, wildcard())
        self.out: DFPattern = self.folded
        if transposed:
            self.out = is_op("relax.permute_dims")(self.folded).has_attr({"axes": [0, 2, 1]})

    def heads(self, found: Mapping[DFPattern, RelaxExpr]) -> list[PrimExpr] | None:
        """Batch, length, heads and width of a head; None where the fold is another one."""
        info = found[self.entry].struct_info
        shape = info.values if isinstance(info, TensorStructInfo) else None
        if shape is None or len(shape) != (3 if self.permuted is None else 4):
            return None
        if self.permuted is None:
            return [shape[0], shape[1], IntImm("int64", 1), shape[2]]
        folded = found[self.folded].struct_info
        flat = folded.values if isinstance(folded, TensorStructInfo) else None
        if flat is None or not same_shape(flat[1:], (shape[1], shape[3])):
            return None
        return list(shape)

    def as_four(self, found: Mapping[DFPattern, RelaxExpr], shape: Sequence[PrimExpr]) -> RelaxExpr:
        """The operand with the dimensions of BSNH."""
        value = found[self.entry]
        return value if self.permuted is not None else reshape(value, list(shape))


class _WrittenOut:
    """The pattern of attention written out, and what takes its place."""

    def __init__(
        self, qkv_layout: str, out_layout: str, bias: bool, cast: bool, repeat: bool
    ) -> None:
        for layout in (qkv_layout, out_layout):
            if layout not in ("BSNH", "BSH"):
                raise TVMError(
                    f"make_attention_rewrite_pattern: layout is {layout!r}; legal: 'BSNH', 'BSH'"
                )
        self.query = _Operand(qkv_layout, False, False)
        self.key = _Operand(qkv_layout, True, repeat)
        self.value = _Operand(qkv_layout, False, repeat)
        self.bias = wildcard() if bias else None
        self.scale = is_const()
        product: DFPattern = is_op("relax.matmul")(self.query.out, self.key.out)
        self.times = is_op("relax.multiply")(product, self.scale)
        self.over = is_op("relax.divide")(product, self.scale)
        scores: DFPattern = self.times | self.over | product
        if self.bias is not None:
            scores = is_op("relax.add")(scores, self.bias)
        if cast:
            scores = is_op("relax.astype")(scores)
        weights: DFPattern = is_op("relax.nn.softmax")(scores).has_attr({"axis": 2})
        weights = weights | is_op("relax.nn.softmax")(scores).has_attr({"axis": -1})
        if cast:
            weights = is_op("relax.astype")(weights)
        self.out_layout = out_layout
        self.pattern: DFPattern = is_op("relax.matmul")(weights, self.value.out)
        if out_layout == "BSNH":
            unfolded = is_op("relax.reshape")(self.pattern, wildcard())
            self.pattern = is_op("relax.permute_dims")(unfolded).has_attr({"axes": [0, 2, 1, 3]})

    def rule(self, expr: RelaxExpr, found: Mapping[DFPattern, RelaxExpr]) -> RelaxExpr:
        """The call of attention; the expression as it is where shapes say it is none."""
        query, key = self.query.heads(found), self.key.heads(found)
        value = self.value.heads(found)
        if query is None or key is None or value is None:
            return expr
        info = expr.struct_info
        wanted = [query[0], query[1], query[2], value[3]]
        if self.out_layout == "BSH":
            wanted = [query[0], query[1], value[3]]
        shape = info.values if isinstance(info, TensorStructInfo) else None
        if shape is None or not same_shape(shape, wanted):
            return expr
        scale = self._scale(found)
        if scale is None:
            return expr
        bias = None
        if self.bias is not None:
            bias = reshape(found[self.bias], [query[0], query[2], query[1], key[1]])
        out = attention(
            self.query.as_four(found, query),
            self.key.as_four(found, key),
            self.value.as_four(found, value),
            bias=bias,
            scale=scale,
        )
        return reshape(out, wanted) if self.out_layout == "BSH" else out

    def _scale(self, found: Mapping[DFPattern, RelaxExpr]) -> float | None:
        """The factor on the scores; None for a constant that is no single number."""
        constant = found.get(self.scale)
        if constant is None:
            return 1.0
        if not isinstance(constant, Constant) or not constant.is_scalar():
            return None
        number = float(constant.data.numpy())
        return number if self.times in found else 1.0 / number
