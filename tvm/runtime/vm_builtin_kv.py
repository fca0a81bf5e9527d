"""The state of language models as programs see it: `vm.builtin.kv_state_*` and its kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError, message

from ._tensor import Tensor
from .kv_cache import AttnKind, CacheConfig, Kernel, Kernels, PagedAttentionKVCache, RopeMode
from .rnn_state import RNNState
from .vm_builtin import VMShape, _builtin, shape_tuple

State = PagedAttentionKVCache | RNNState
_ARGUMENTS = 28


def _state(value: Any, asked: str) -> State:
    if not isinstance(value, (PagedAttentionKVCache, RNNState)):
        raise TypeError(
            message(asked, found=type(value).__name__, legal="a paged KV cache or an RNN state")
        )
    return value


def _cache(value: Any, asked: str) -> PagedAttentionKVCache:
    if not isinstance(value, PagedAttentionKVCache):
        raise TypeError(message(asked, found=type(value).__name__, legal="a paged KV cache"))
    return value


def _rnn(value: Any, asked: str) -> RNNState:
    if not isinstance(value, RNNState):
        raise TypeError(message(asked, found=type(value).__name__, legal="an RNN state"))
    return value


# --- states of any kind ---


@_builtin("kv_state_clear")
def kv_state_clear(state: Any) -> None:
    """Forget all sequences."""
    _state(state, "kv_state_clear").clear()


@_builtin("kv_state_add_sequence")
def kv_state_add_sequence(state: Any, seq_id: int) -> None:
    """A new sequence."""
    _state(state, "kv_state_add_sequence").add_sequence(int(seq_id))


@_builtin("kv_state_remove_sequence")
def kv_state_remove_sequence(state: Any, seq_id: int) -> None:
    """Forget a sequence."""
    held = _state(state, "kv_state_remove_sequence")
    if isinstance(held, RNNState):
        held.remove_sequence(int(seq_id))
    else:
        held.table.remove(int(seq_id))


@_builtin("kv_state_fork_sequence")
def kv_state_fork_sequence(state: Any, parent: int, child: int, fork_pos: int = -1) -> None:
    """A new sequence that starts as another (-1: with all of it)."""
    held = _state(state, "kv_state_fork_sequence")
    if isinstance(held, RNNState):
        held.fork_sequence(int(parent), int(child), int(fork_pos))
    else:
        held.table.fork(int(parent), int(child), int(fork_pos))


@_builtin("kv_state_popn")
def kv_state_popn(state: Any, seq_id: int, n: int) -> None:
    """Forget the last tokens of a sequence."""
    held = _state(state, "kv_state_popn")
    if isinstance(held, RNNState):
        held.pop(int(seq_id), int(n))
    else:
        held.table.pop(int(seq_id), int(n))


@_builtin("kv_state_begin_forward")
def kv_state_begin_forward(
    state: Any, seq_ids: Any, append_lengths: Any, token_tree_parent_ptr: Any = None
) -> None:
    """Begin a pass in which these sequences grow."""
    parents = None if token_tree_parent_ptr is None else shape_tuple(token_tree_parent_ptr)
    held = _state(state, "kv_state_begin_forward")
    held.begin_forward(shape_tuple(seq_ids), shape_tuple(append_lengths), parents)


@_builtin("kv_state_end_forward")
def kv_state_end_forward(state: Any) -> None:
    """End the pass."""
    _state(state, "kv_state_end_forward").end_forward()


# --- attention caches ---


@_builtin("paged_attention_kv_cache_create")
def paged_attention_kv_cache_create(*args: Any) -> PagedAttentionKVCache:
    """An attention cache of the caller's sizes and kernels.

    cache_config (sequences, tokens, prefill chunk, page size, sliding window?), the first layer
    of each group and the end, query heads, heads, head dims of keys and values, kinds of layers,
    enable_kv_transfer, RoPE mode, scale, theta and factors, a tensor of the data type and device,
    then kernels.
    """
    if len(args) not in (_ARGUMENTS, _ARGUMENTS + 1):
        raise TVMError(
            message("paged_attention_kv_cache_create", found=f"{len(args)} arguments",
                    legal=f"{_ARGUMENTS}")
        )  # fmt: skip
    sizes, groups = shape_tuple(args[0]), shape_tuple(args[1])
    if len(sizes) != 5 or len(groups) < 2 or args[7]:
        raise TVMError(
            message(
                "paged_attention_kv_cache_create",
                found="enable_kv_transfer: moving pages between processes needs NVSHMEM"
                if args[7] else f"cache_config {sizes}, layers {groups}",
                legal="(sequences, tokens, prefill chunk, page size, sliding window?), "
                "(first layer, end), no transfer",
            )
        )  # fmt: skip
    kinds = [AttnKind(kind) for kind in shape_tuple(args[6])][groups[0] : groups[1]]
    if len(kinds) != groups[1] - groups[0]:
        raise TVMError(
            message("paged_attention_kv_cache_create", found=f"{len(kinds)} kinds of attention",
                    legal=f"one a layer: {groups[1] - groups[0]}")
        )  # fmt: skip
    like: Tensor = args[12]
    merges = list(args[23])
    if not merges:
        raise TVMError(
            message("paged_attention_kv_cache_create",
                    found="Merge inplace function is not defined",
                    legal="f_merge_inplace: a list of one function")
        )  # fmt: skip
    config = CacheConfig(
        max_sequences=sizes[0], capacity=sizes[1], chunk=sizes[2], page_size=sizes[3],
        sliding=bool(sizes[4]) and AttnKind.MHA_SLIDING not in kinds, first_layer=groups[0],
        kinds=kinds, query_heads=int(args[2]), heads=int(args[3]), head_dim=int(args[4]),
        value_dim=int(args[5]), rope_mode=RopeMode(int(args[8])), rope_scale=float(args[9]),
        rope_theta=float(args[10]), rope_factors=args[11] if isinstance(args[11], Tensor) else None,
        dtype=str(like.dtype), device=like.device,
    )  # fmt: skip
    ragged, prefill, decode, sliding, decode_sliding, paged_tree, tree, mla = map(
        _kernel, args[15:23]
    )
    kernels = Kernels(
        append=_function(args[13]), append_mla=_function(args[14]), prefill_ragged=ragged,
        prefill=prefill,
        decode=decode, prefill_sliding=sliding, decode_sliding=decode_sliding,
        prefill_tree_paged=paged_tree, prefill_tree=tree, prefill_mla=mla, merge=merges[0],
        split_rotary=args[24], copy_page=args[25], debug_get=args[26], compact=args[27],
    )  # fmt: skip
    return PagedAttentionKVCache(config, kernels)


def _function(given: Any) -> Kernel | None:
    """A function; programs write a number where there is none."""
    return given if callable(given) else None


def _kernel(given: Any) -> Kernel | None:
    """The function of a backend's description: the backend's name, then its functions."""
    described = list(given) if isinstance(given, Sequence) else []
    if not described:
        return None
    if str(described[0]) != "tir" or len(described) != 2:
        raise TVMError(
            message("paged_attention_kv_cache_create: an attention kernel",
                    found=f"{str(described[0])!r} with {len(described) - 1} functions",
                    legal='["tir", function], or []')
        )  # fmt: skip
    kernel: Kernel = described[1]
    return kernel


@_builtin("attention_kv_cache_enable_sliding_window_for_seq")
def attention_kv_cache_enable_sliding_window_for_seq(
    cache: Any, seq_id: int, sliding_window_size: int, attn_sink_size: int
) -> None:
    """Keep the last tokens of a sequence only, and its first few."""
    held = _cache(cache, "attention_kv_cache_enable_sliding_window_for_seq")
    held.enable_sliding_window(int(seq_id), int(sliding_window_size), int(attn_sink_size))


@_builtin("attention_kv_cache_commit_accepted_token_tree_nodes")
def attention_kv_cache_commit_accepted_token_tree_nodes(
    cache: Any, seq_ids: Any, leaf_indices: Any
) -> None:
    """Keep one path of each tree of tokens."""
    held = _cache(cache, "attention_kv_cache_commit_accepted_token_tree_nodes")
    held.commit_tree(shape_tuple(seq_ids), shape_tuple(leaf_indices))


@_builtin("attention_kv_cache_empty")
def attention_kv_cache_empty(cache: Any) -> bool:
    """True when the cache holds nothing."""
    return _cache(cache, "attention_kv_cache_empty").is_empty


@_builtin("attention_kv_cache_get_num_available_pages")
def attention_kv_cache_get_num_available_pages(cache: Any) -> int:
    """How many pages are free."""
    return _cache(cache, "attention_kv_cache_get_num_available_pages").table.available


@_builtin("attention_kv_cache_get_total_sequence_length")
def attention_kv_cache_get_total_sequence_length(cache: Any) -> int:
    """The lengths of all sequences together."""
    return _cache(cache, "attention_kv_cache_get_total_sequence_length").total_length


@_builtin("attention_kv_cache_get_query_positions")
def attention_kv_cache_get_query_positions(cache: Any) -> Tensor:
    """The position of each new token in its sequence."""
    return _cache(cache, "attention_kv_cache_get_query_positions").query_positions()


@_builtin("attention_kv_cache_debug_get_kv")
def attention_kv_cache_debug_get_kv(
    cache: Any, seq_id: int, start_pos: int, end_pos: int, k_data: Tensor, v_data: Tensor
) -> None:
    """Copy the cached keys and values of a part of a sequence, of all layers."""
    held = _cache(cache, "attention_kv_cache_debug_get_kv")
    held.debug_get(int(seq_id), int(start_pos), int(end_pos), k_data, v_data)


@_builtin("attention_kv_cache_debug_get_kv_mla")
def attention_kv_cache_debug_get_kv_mla(
    cache: Any, seq_id: int, start_pos: int, end_pos: int, kv_data: Tensor
) -> None:
    """Copy the cached compressed keys and values of a part of a sequence, of all layers."""
    held = _cache(cache, "attention_kv_cache_debug_get_kv_mla")
    held.debug_get(int(seq_id), int(start_pos), int(end_pos), kv_data)


@_builtin("attention_kv_cache_attention_with_fused_qkv")
def attention_kv_cache_attention_with_fused_qkv(
    cache: Any, layer_id: int, sm_scale: float, qkv_data: Tensor, o_data: Tensor
) -> None:
    """Append the keys and values of the new tokens, and attend from their queries."""
    held = _cache(cache, "attention_kv_cache_attention_with_fused_qkv")
    held.attention(int(layer_id), qkv_data, o_data, float(sm_scale))


@_builtin("attention_kv_cache_self_attention")
def attention_kv_cache_self_attention(
    cache: Any, layer_id: int, sm_scale: float, q_data: Tensor, k_data: Tensor, v_data: Tensor,
    o_data: Tensor, lse_data: Tensor,
) -> None:  # fmt: skip
    """Attend to the new tokens alone."""
    held = _cache(cache, "attention_kv_cache_self_attention")
    held.self_attention(int(layer_id), q_data, k_data, v_data, o_data, lse_data, float(sm_scale))


@_builtin("attention_kv_cache_cross_attention")
def attention_kv_cache_cross_attention(
    cache: Any, layer_id: int, sm_scale: float, q_data: Tensor, o_data: Tensor, lse_data: Tensor
) -> None:
    """Attend to the cached tokens alone."""
    held = _cache(cache, "attention_kv_cache_cross_attention")
    held.cross_attention(int(layer_id), q_data, o_data, lse_data, float(sm_scale))


@_builtin("attention_kv_cache_append_mla_kv")
def attention_kv_cache_append_mla_kv(cache: Any, layer_id: int, kv_data: Tensor) -> Any:
    """Append compressed keys and values; gives the cache."""
    _cache(cache, "attention_kv_cache_append_mla_kv").append_mla(int(layer_id), kv_data)
    return cache


@_builtin("attention_kv_cache_merge_attn_output_inplace")
def attention_kv_cache_merge_attn_output_inplace(
    cache: Any, o_self_attn: Tensor, lse_self_attn: Tensor, o_cross_attn: Tensor,
    lse_cross_attn: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Make the first attention that over the tokens of both; gives it."""
    held = _cache(cache, "attention_kv_cache_merge_attn_output_inplace")
    held.merge(o_self_attn, lse_self_attn, o_cross_attn, lse_cross_attn)
    return o_self_attn, lse_self_attn


@_builtin("kv_cache_disagg_prepare_recv")
def kv_cache_disagg_prepare_recv(cache: Any, seq_id: int, length: int) -> VMShape:
    """Let a sequence grow by tokens that another process sends; where they go, as runs."""
    held = _cache(cache, "kv_cache_disagg_prepare_recv")
    return VMShape(held.prepare_receive(int(seq_id), int(length)))


@_builtin("kv_cache_disagg_mark_send")
def kv_cache_disagg_mark_send(
    cache: Any, seq_id: int, begin: int, compressed_remote_position_map: Any, recver_pe_offset: int
) -> None:
    """Send what a sequence appends to another process; no transport of this machine can."""
    held = _cache(cache, "kv_cache_disagg_mark_send")
    held.table.get(int(seq_id), "kv_cache_disagg_mark_send")
    raise TVMError(
        message(
            f"kv_cache_disagg_mark_send: sequence {int(seq_id)}",
            found="the cache was created without enable_kv_transfer",
            legal="a cache on devices that NVSHMEM connects",
        )
    )


# --- recurrent states ---


@_builtin("rnn_state_create")
def rnn_state_create(
    num_layers: int, reserved_num_seqs: int, max_history: int, f_gets: Sequence[Kernel],
    f_sets: Sequence[Kernel], init_layer_value: Sequence[Tensor],
) -> RNNState:  # fmt: skip
    """States of layers, with the functions that read and write them."""
    sizes = int(num_layers), int(reserved_num_seqs), int(max_history)
    return RNNState(*sizes, list(f_gets), list(f_sets), list(init_layer_value))


@_builtin("rnn_state_get")
def rnn_state_get(state: Any, layer_id: int, state_id: int, o_data: Tensor) -> Tensor:
    """Read a state of the batch; gives the tensor."""
    return _rnn(state, "rnn_state_get").get(int(layer_id), int(state_id), o_data)


@_builtin("rnn_state_set")
def rnn_state_set(state: Any, layer_id: int, state_id: int, data: Tensor) -> Any:
    """Write the next state of the batch; gives the state."""
    _rnn(state, "rnn_state_set").set(int(layer_id), int(state_id), data)
    return state


@_builtin("rnn_state_debug_get")
def rnn_state_debug_get(state: Any, layer_id: int, state_id: int, seq_id: int) -> Tensor:
    """A copy of a state of one sequence."""
    return _rnn(state, "rnn_state_debug_get").debug_get(int(layer_id), int(state_id), int(seq_id))
