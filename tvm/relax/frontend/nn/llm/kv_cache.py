"""Paged key-value caches of attention: the object in a model, and the kernels it works with."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from tvm import relax as rx
from tvm import tir
from tvm.error import TVMError, message
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.nn.core import Object, Tensor
from tvm.target import Target

from . import kv_kernels
from .attention import Heads
from .attention_kernels import compressed, one_sequence, paged, ragged
from .position_embedding import llama_rope_with_position_map
from .tree_attn import (  # noqa: F401  users find the kernels for CPUs here too
    tree_attn,
    tree_attn_cpu,
    tree_attn_with_paged_kv_cache,
    tree_attn_with_paged_kv_cache_cpu,
)

Kind = Literal["mha", "mla", "mha_sliding"]
Rope = dict[str, Any]


def get_max_num_threads_per_block(target: Target) -> int:
    """How many threads a block may have: those of each dimension, and of all together."""
    total = target.max_num_threads
    each = target.attrs.get("max_threads_per_block", total)
    return min(int(total), int(each)) if each else int(total)


def check_thread_limits(target: Target, bdx: int, bdy: int, bdz: int, gdz: int) -> None:
    """Refuse more threads than the target has."""
    limit = get_max_num_threads_per_block(target)
    asked = f"a block of {bdx} x {bdy} x {bdz} threads on {target.kind.name}"
    if bdx * bdy * bdz > limit:
        raise ValueError(
            message(asked, found=f"{bdx * bdy * bdz} threads", legal=f"at most {limit}")
        )
    if target.kind.name == "webgpu" and gdz != 1:
        raise ValueError(message(asked, found=f"a grid of depth {gdz}", legal="depth 1 on webgpu"))


class AttnKind(enum.IntEnum):
    """What attention a layer has."""

    MHA = 0
    MLA = 1
    MHA_SLIDING = 3


class RopeMode(enum.IntEnum):
    """When positions turn queries and keys: never, before keys are cached, or in the kernels."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


def _emit(expr: rx.Expr) -> rx.Var:
    builder = BlockBuilder.current()
    if builder is None:
        raise TVMError(
            message("a cache is used", found="no function is being built", legal="export_tvm")
        )
    return builder.emit(expr)


class PagedKVCache(Object):
    """The cache of all layers; its attention appends the new keys and values first."""

    extern_mods: ClassVar[list[Any]] = []

    def attention_with_fused_qkv(
        self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float
    ) -> Tensor:
        """(batch, length, heads + 2 * kv_heads, dim) -> (batch, length, heads, dim)"""
        b, s, width, d = qkv.shape
        out = rx.TensorStructInfo((b * s, num_qo_heads, d), qkv.dtype)
        call = rx.op.call_dps_packed(
            "vm.builtin.attention_kv_cache_attention_with_fused_qkv",
            self._operands(layer_id, sm_scale, qkv.reshape(b * s, width, d)), out,
        )  # fmt: skip
        return Tensor(_expr=_emit(call)).reshape(b, s, num_qo_heads, d)

    def self_attention(
        self, layer_id: int, q: Tensor, k: Tensor, v: Tensor, sm_scale: float
    ) -> tuple[Tensor, Tensor]:
        """Attention to the new tokens, and its logarithms; nothing is appended."""
        b, s, heads, _ = q.shape
        parts = [x.reshape(b * s, x.shape[2], x.shape[3]) for x in (q, k, v)]
        return self._attention("self", layer_id, sm_scale, parts, (b, s, heads, v.shape[3]))

    def cross_attention(
        self, layer_id: int, q: Tensor, v_head_dim: int, sm_scale: float
    ) -> tuple[Tensor, Tensor]:
        """Attention to what is cached, and its logarithms."""
        b, s, heads, dim = q.shape
        parts = [q.reshape(b * s, heads, dim)]
        return self._attention("cross", layer_id, sm_scale, parts, (b, s, heads, v_head_dim))

    def append_mla_kv(self, layer_id: int, kv: Tensor) -> PagedKVCache:
        """Append compressed keys, (batch, length, 1, dim)."""
        b, s, _, dim = kv.shape
        call = rx.op.call_pure_packed(
            "vm.builtin.attention_kv_cache_append_mla_kv", self._expr, rx.PrimValue(layer_id),
            kv.reshape(b * s, dim)._expr, sinfo_args=rx.ObjectStructInfo(),
        )  # fmt: skip
        return PagedKVCache(_expr=call, _name="paged_kv_cache")

    def merge_attn_output_inplace(
        self, o_self_attn: Tensor, lse_self_attn: Tensor, o_cross_attn: Tensor,
        lse_cross_attn: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Two attentions over different keys as one, in the memory of the first."""
        b, s, heads, dim = o_self_attn.shape
        parts = [
            o_self_attn.reshape(b * s, heads, dim), lse_self_attn.reshape(b * s, heads),
            o_cross_attn.reshape(b * s, heads, dim), lse_cross_attn.reshape(b * s, heads),
        ]  # fmt: skip
        merged = _emit(
            rx.op.call_pure_packed(
                "vm.builtin.attention_kv_cache_merge_attn_output_inplace", self._expr,
                *[part._expr for part in parts],
                sinfo_args=rx.TupleStructInfo(
                    [parts[0]._expr.struct_info, parts[1]._expr.struct_info]
                ),
            )
        )  # fmt: skip
        return _pair(merged, (b, s, heads, dim))

    def get_query_positions(self, total_length: tir.PrimExpr) -> Tensor:
        """The position of each new token in its sequence."""
        call = rx.op.call_pure_packed(
            "vm.builtin.attention_kv_cache_get_query_positions", self._expr,
            sinfo_args=rx.TensorStructInfo((total_length,), "int32"),
        )  # fmt: skip
        return Tensor(_expr=_emit(call))

    def _operands(self, layer_id: int, sm_scale: float, *tensors: Tensor) -> list[rx.Expr]:
        numbers = [rx.PrimValue(layer_id), rx.PrimValue(sm_scale)]
        return [self._expr, *numbers, *[t._expr for t in tensors]]

    def _attention(
        self, kind: str, layer_id: int, sm_scale: float, parts: Sequence[Tensor],
        shape: tuple[Any, ...],
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        b, s, heads, dim = shape
        made = rx.op.call_dps_packed(
            f"vm.builtin.attention_kv_cache_{kind}_attention",
            self._operands(layer_id, sm_scale, *parts),
            [
                rx.TensorStructInfo((b * s, heads, dim), parts[0].dtype),
                rx.TensorStructInfo((b * s, heads), "float32"),
            ],
        )
        return _pair(_emit(made), shape)


def _pair(value: rx.Var, shape: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    out = Tensor(_expr=_emit(rx.TupleGetItem(value, 0))).reshape(*shape)
    return out, Tensor(_expr=_emit(rx.TupleGetItem(value, 1))).reshape(*shape[:3])


class TIRPagedKVCache(PagedKVCache):
    """A cache whose kernels are compiled with the model."""

    def __init__(
        self,
        attn_kind: Kind | list[Kind],
        max_batch_size: tir.Var,
        max_total_seq_len: tir.Var,
        prefill_chunk_size: tir.Var,
        page_size: tir.Var,
        support_sliding_window: tir.Var,
        layer_partition: rx.ShapeExpr,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        mla_original_qk_head_dim: int,
        mla_original_v_head_dim: int,
        rope_mode: RopeMode,
        rope_scale: int,
        rope_theta: int,
        rope_scaling: Rope,
        rope_ext_factors: rx.Expr,
        rotary_dim: int,
        enable_disaggregation: bool,
        dtype: str,
        target: Target,
        name: str = "paged_kv_cache",
    ) -> None:
        given = attn_kind if isinstance(attn_kind, list) else [attn_kind] * num_hidden_layers
        kinds = [AttnKind[kind.upper()] for kind in given]
        heads = Heads(
            num_attention_heads, num_key_value_heads, qk_head_dim, v_head_dim, dtype, rope_scaling
        )
        kernels = _Kernels(
            heads, num_hidden_layers, AttnKind.MLA in kinds,
            (mla_original_qk_head_dim, mla_original_v_head_dim),
            (rope_theta, rope_scale, rotary_dim), target,
        )  # fmt: skip
        sizes = [max_batch_size, max_total_seq_len, prefill_chunk_size, page_size]
        args = [
            rx.ShapeExpr([*sizes, support_sliding_window]),
            layer_partition,
            *[rx.PrimValue(n) for n in (num_attention_heads, num_key_value_heads)],
            *[rx.PrimValue(n) for n in (qk_head_dim, v_head_dim)],
            rx.ShapeExpr([int(kind) for kind in kinds]),
            rx.PrimValue(int(enable_disaggregation)),
            rx.PrimValue(int(rope_mode)),
            *[rx.PrimValue(n) for n in (rope_scale, rope_theta)],
            rope_ext_factors,
            rx.op.zeros((), dtype),
            *kernels.operands(),
        ]
        call = rx.op.call_pure_packed(
            "vm.builtin.paged_attention_kv_cache_create", *args, sinfo_args=rx.ObjectStructInfo()
        )
        super().__init__(_expr=call, _name=name)


class FlashInferPagedKVCache(PagedKVCache):
    """A cache whose kernels are FlashInfer's, for NVIDIA GPUs."""

    def __init__(
        self,
        attn_kind: Kind | list[Kind],
        max_batch_size: tir.Var,
        max_total_seq_len: tir.Var,
        prefill_chunk_size: tir.Var,
        page_size: tir.Var,
        support_sliding_window: tir.Var,
        layer_partition: rx.ShapeExpr,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        mla_original_qk_head_dim: int,
        mla_original_v_head_dim: int,
        rope_mode: RopeMode,
        rope_scale: int,
        rope_theta: int,
        rope_scaling: Rope,
        rope_ext_factors: rx.Expr,
        rotary_dim: int,
        enable_disaggregation: bool,
        dtype: str,
        target: Target,
        name: str = "paged_kv_cache",
    ) -> None:
        raise TVMError(
            message(
                f"FlashInferPagedKVCache for {target.kind.name}",
                found="no compiled kernels of FlashInfer",
                legal="TIRPagedKVCache: the same parameters, on any target",
            )
        )


class _Kernels:
    """The kernels of one cache, as the functions of the module that is being built."""

    def __init__(
        self, heads: Heads, layers: int, is_mla: bool, mla: tuple[int, int],
        rope: tuple[float, float, int], target: Target,
    ) -> None:  # fmt: skip
        self._heads, self._layers, self._is_mla, self._mla = heads, layers, is_mla, mla
        self._rope, self._target = rope, target

    def operands(self) -> list[rx.Expr]:
        """In the order that the cache takes them."""
        heads, target, size = self._heads, self._target, _PAGE_SIZE
        h_kv, dim, dtype = heads.kv_heads, heads.dim, heads.dtype
        mla = Heads(heads.query_heads, 0, dim, heads.value_dim, dtype, {})
        raw_dim, raw_value_dim = self._mla if self._is_mla else (dim, heads.value_dim)
        raw = Heads(heads.query_heads, h_kv, raw_dim, raw_value_dim, dtype, heads.rope_scaling)
        theta, scale, rotary = self._rope
        add = self._add
        end = "_cpu" * (target.kind.name == _CPU)
        merge = "merge_state_inplace_cpu" if end else "tir_attention_merge_state"
        if self._is_mla:
            moved = [
                add(_copy_single_page_mla(size, dim, dtype, target)),
                add(_kv_cache_debug_get_kv_mla(self._layers, dim, dtype)),
                add(_compact_kv_copy(1, dim, dtype, target)),
            ]
        else:
            moved = [
                add(kv_kernels.copy_page(f"copy_single_page{end}", h_kv, size, dim, dtype, target)),
                add(_kv_cache_debug_get_kv(self._layers, h_kv, dim, dtype)),
                add(kv_kernels.compact(f"compact_kv_copy{end}", h_kv, dim, dtype, size, target)),
            ]
        attention: list[rx.Expr] = [
            self._tir(ragged("batch_prefill_ragged_kv", raw if self._is_mla else heads, target)),
            *([rx.Tuple([])] * 6 if self._is_mla else self._over_pages(heads)),
            self._tir(compressed("batch_prefill_paged_kv_mla", mla, False, size, target))
            if self._is_mla
            else rx.Tuple([]),
        ]
        return [
            add(kv_kernels.append("tir_kv_cache_transpose_append", dim, h_kv, dtype, size, target)),
            add(kv_kernels.append_compressed("tir_kv_cache_transpose_append_mla", dim, dtype, size,
                                             target)),
            *attention,
            rx.Tuple([add(kv_kernels.merge(merge, dtype, target))]),
            add(llama_rope_with_position_map(theta, scale, dim, heads.query_heads, h_kv, dtype,
                                             heads.rope_scaling, rotary, target)),
            *moved,
        ]  # fmt: skip

    def _over_pages(self, heads: Heads) -> list[rx.Expr]:
        target = self._target
        found: list[rx.Expr] = []
        for sliding in (False, True):
            end = "_cpu" * (target.kind.name == _CPU) + "_sliding_window" * sliding
            prefill = paged(f"batch_prefill_paged_kv{end}", heads, sliding, _PAGE_SIZE, target)
            decode = paged(
                f"batch_decode_paged_kv{end}", heads, sliding, _PAGE_SIZE, target, decode=True
            )
            found += [self._tir(prefill), self._tir(decode)]
        shape = (heads.kv_heads, heads.query_heads, heads.dim, heads.dtype, heads.rope_scaling)
        found.append(self._tir(tree_attn_with_paged_kv_cache(*shape, target)))
        found.append(self._tir(tree_attn(*shape, target)))
        return found

    def _tir(self, func: tir.PrimFunc) -> rx.Expr:
        return rx.Tuple([rx.StringImm("tir"), self._add(func)])

    def _add(self, func: tir.PrimFunc) -> rx.Expr:
        builder = BlockBuilder.current()
        assert builder is not None, "a cache is made in a function that is being built"
        return builder.add_func(func, str(func.attrs["global_symbol"]))


# --- the kernels one by one, under their names ---

_PAGE_SIZE = 16
_CPU = "llvm"


def _kv_cache_transpose_append(
    num_key_value_heads: int, head_dim: int, dtype: str, page_size: int = _PAGE_SIZE
) -> tir.PrimFunc:
    name = "tir_kv_cache_transpose_append"
    return kv_kernels.append(name, head_dim, num_key_value_heads, dtype, page_size, None)


def _kv_cache_transpose_append_mla(
    d_qk: int, dtype: str, page_size: int = _PAGE_SIZE
) -> tir.PrimFunc:
    name = "tir_kv_cache_transpose_append_mla"
    return kv_kernels.append_compressed(name, d_qk, dtype, page_size, None)


def _kv_cache_debug_get_kv(
    num_hidden_layers: int, num_key_value_heads: int, head_dim: int, dtype: str
) -> tir.PrimFunc:
    name = "tir_kv_cache_debug_get_kv"
    return kv_kernels.debug_get(name, num_hidden_layers, num_key_value_heads, head_dim, dtype)


def _kv_cache_debug_get_kv_mla(num_hidden_layers: int, d_qk: int, dtype: str) -> tir.PrimFunc:
    name = "tir_kv_cache_debug_get_kv_mla"
    return kv_kernels.debug_get_compressed(name, num_hidden_layers, d_qk, dtype)


def _attention_prefill(
    h_kv: int, h_q: int, d: int, dtype: str, sliding_window: bool, rope_scaling: Rope,
    target: Target, page_size: int = _PAGE_SIZE,
) -> tir.PrimFunc:  # fmt: skip
    heads = Heads(h_q, h_kv, d, d, dtype, rope_scaling)
    name = "batch_prefill_paged_kv" + "_sliding_window" * sliding_window
    return paged(name, heads, sliding_window, page_size, target)


def _attention_prefill_cpu(
    h_kv: int, h_q: int, d: int, dtype: str, sliding_window: bool, rope_scaling: Rope,
    page_size: int = _PAGE_SIZE,
) -> tir.PrimFunc:  # fmt: skip
    heads = Heads(h_q, h_kv, d, d, dtype, rope_scaling)
    name = "batch_prefill_paged_kv_cpu" + "_sliding_window" * sliding_window
    return paged(name, heads, sliding_window, page_size, Target(_CPU))


def _attention_decode(
    num_kv_heads: int, num_qo_heads: int, head_dim: int, qkv_dtype: str, sliding_window: bool,
    rope_scaling: Rope, target: Target, page_size: int = _PAGE_SIZE,
) -> tir.PrimFunc:  # fmt: skip
    heads = Heads(num_qo_heads, num_kv_heads, head_dim, head_dim, qkv_dtype, rope_scaling)
    name = "batch_decode_paged_kv" + "_sliding_window" * sliding_window
    return paged(name, heads, sliding_window, page_size, target, decode=True)


def _attention_decode_cpu(
    num_kv_heads: int, num_qo_heads: int, head_dim: int, qkv_dtype: str, sliding_window: bool,
    rope_scaling: Rope, page_size: int = _PAGE_SIZE,
) -> tir.PrimFunc:  # fmt: skip
    heads = Heads(num_qo_heads, num_kv_heads, head_dim, head_dim, qkv_dtype, rope_scaling)
    name = "batch_decode_paged_kv_cpu" + "_sliding_window" * sliding_window
    return paged(name, heads, sliding_window, page_size, Target(_CPU), decode=True)


def _attention_prefill_ragged(
    h_kv: int, h_q: int, d_qk: int, d_v: int, dtype: str, rope_scaling: Rope, target: Target
) -> tir.PrimFunc:
    heads = Heads(h_q, h_kv, d_qk, d_v, dtype, rope_scaling)
    return ragged("batch_prefill_ragged_kv", heads, target)


def _attention_prefill_ragged_cpu(
    h_kv: int, h_q: int, d_qk: int, d_v: int, dtype: str, rope_scaling: Rope
) -> tir.PrimFunc:
    heads = Heads(h_q, h_kv, d_qk, d_v, dtype, rope_scaling)
    return ragged("batch_prefill_ragged_kv_cpu", heads, Target(_CPU))


def _attention_sequence_prefill(
    h_kv: int, h_q: int, d: int, dtype: str, target: Target, causal: int = 0, sm_scale: float = 1.0
) -> tir.PrimFunc:
    heads = Heads(h_q, h_kv, d, d, dtype, {})
    return one_sequence("batch_sequence_prefill_kv", heads, bool(causal), sm_scale, target)


def _attention_sequence_prefill_with_mask(
    h_kv: int, h_q: int, d: int, dtype: str, target: Target, sm_scale: float = 1.0
) -> tir.PrimFunc:
    heads, name = Heads(h_q, h_kv, d, d, dtype, {}), "batch_sequence_prefill_kv_masked"
    return one_sequence(name, heads, False, sm_scale, target, masked=True)


def _attention_prefill_mla(
    h_q: int, d_latent: int, d_rope: int, dtype: str, sliding_window: bool, target: Target,
    page_size: int = _PAGE_SIZE,
) -> tir.PrimFunc:  # fmt: skip
    heads = Heads(h_q, 0, d_latent + d_rope, d_latent, dtype, {})
    name = "batch_prefill_paged_kv_mla" + "_sliding_window" * sliding_window
    return compressed(name, heads, sliding_window, page_size, target)


def _merge_state_inplace(
    num_heads: int, head_dim: int, v_dtype: str, target: Target, global_symbol: str | None = None
) -> tir.PrimFunc:
    return kv_kernels.merge(global_symbol or "merge_state_inplace", v_dtype, target)


def _merge_state_inplace_cpu(v_dtype: str) -> tir.PrimFunc:
    return kv_kernels.merge("merge_state_inplace_cpu", v_dtype, Target(_CPU))


def _copy_single_page(
    num_heads: int, page_size: int, head_dim: int, dtype: str, target: Target
) -> tir.PrimFunc:
    return kv_kernels.copy_page("copy_single_page", num_heads, page_size, head_dim, dtype, target)


def _copy_single_page_mla(
    page_size: int, head_dim: int, dtype: str, target: Target
) -> tir.PrimFunc:
    return kv_kernels.copy_page("copy_single_page_mla", 0, page_size, head_dim, dtype, target)


def _copy_single_page_cpu(
    num_heads: int, page_size: int, head_dim: int, dtype: str
) -> tir.PrimFunc:
    name = "copy_single_page_cpu"
    return kv_kernels.copy_page(name, num_heads, page_size, head_dim, dtype, Target(_CPU))


def _compact_kv_copy(
    num_heads: int, head_dim: int, dtype: str, target: Target, page_size: int = _PAGE_SIZE
) -> tir.PrimFunc:
    return kv_kernels.compact("compact_kv_copy", num_heads, head_dim, dtype, page_size, target)


def _compact_kv_copy_cpu(
    num_heads: int, head_dim: int, dtype: str, page_size: int = _PAGE_SIZE
) -> tir.PrimFunc:
    name = "compact_kv_copy_cpu"
    return kv_kernels.compact(name, num_heads, head_dim, dtype, page_size, Target(_CPU))
