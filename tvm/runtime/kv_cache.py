"""Attention over cached keys and values, kept in pages that sequences share.

The kernels are the caller's: they append to pages, attend to pages or to a batch of new tokens,
and merge two attentions. This file says which of them runs on what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from tvm.error import ShapeError, TVMError, message
from tvm.ffi.object import Object

from ._device import Device
from ._tensor import Tensor, empty, from_host, tensor
from .kv_forward import Forward, PagesView
from .kv_pages import PageTable

Kernel = Callable[..., Any]


class AttnKind(IntEnum):
    """What attention a layer has."""

    MHA = 0
    MLA = 1
    LINEAR = 2
    MHA_SLIDING = 3


class RopeMode(IntEnum):
    """When positions turn queries and keys: never, before keys are cached, or in the kernels."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


@dataclass
class Kernels:
    """The functions that do the work; None for those that the caller does not have."""

    append: Kernel | None
    append_mla: Kernel | None
    prefill_ragged: Kernel | None
    prefill: Kernel | None
    decode: Kernel | None
    prefill_sliding: Kernel | None
    decode_sliding: Kernel | None
    prefill_tree_paged: Kernel | None
    prefill_tree: Kernel | None
    prefill_mla: Kernel | None
    merge: Kernel
    split_rotary: Kernel
    copy_page: Kernel
    debug_get: Kernel
    compact: Kernel


@dataclass
class CacheConfig:
    """How large a cache is, and what its layers are."""

    max_sequences: int
    capacity: int
    chunk: int
    page_size: int
    sliding: bool
    first_layer: int
    kinds: list[AttnKind]
    query_heads: int
    heads: int
    head_dim: int
    value_dim: int
    rope_mode: RopeMode
    rope_scale: float
    rope_theta: float
    rope_factors: Tensor | None
    dtype: str
    device: Device
    layers: range = field(init=False)

    def __post_init__(self) -> None:
        if self.sliding and self.rope_mode == RopeMode.NORMAL:
            raise TVMError(
                message(
                    "paged_attention_kv_cache_create: sliding windows",
                    found="Normal RoPE mode: cached keys are turned by positions that move",
                    legal="RoPE mode NONE or INLINE",
                )
            )
        self.layers = range(self.first_layer, self.first_layer + len(self.kinds))

    @property
    def page_count(self) -> int:
        """How many pages there are; windows that begin and end within pages need two more."""
        pages = -(-self.capacity // self.page_size) + 1
        return pages + (2 * self.max_sequences if self.sliding else 0)

    def page_shape(self, kind: AttnKind) -> tuple[int, ...]:
        """The shape of the pages of one layer."""
        if kind == AttnKind.MLA:
            return (self.page_count, self.page_size, self.head_dim)
        return (self.page_count, 2, self.heads, self.page_size, self.head_dim)


class PagedAttentionKVCache(Object):
    """Keys and values of many sequences and layers, in pages."""

    def __init__(self, config: CacheConfig, kernels: Kernels) -> None:
        self.config = config
        self.kernels = kernels
        self.pages = [
            empty(config.page_shape(kind), config.dtype, config.device) for kind in config.kinds
        ]
        self.table = PageTable(config.page_count, config.page_size, self._copy_page)
        self._forward: Forward | None = None
        self._per_layer_window = AttnKind.MHA_SLIDING in config.kinds

    # --- sequences ---

    def clear(self) -> None:
        """Forget everything."""
        self.table.clear()
        self._forward = None

    @property
    def is_empty(self) -> bool:
        """True when there is no sequence and every page is free."""
        return not self.table.sequences and self.table.available == self.table.page_count

    def add_sequence(self, name: int) -> None:
        """A new sequence."""
        if len(self.table.sequences) >= self.config.max_sequences:
            raise TVMError(
                message(
                    f"add sequence {name}",
                    found=f"{len(self.table.sequences)} sequences",
                    legal=f"at most {self.config.max_sequences}, as the cache was created for",
                )
            )
        self.table.add(name)

    @property
    def total_length(self) -> int:
        """The lengths of all sequences together."""
        return sum(one.length for one in self.table.sequences.values())

    def enable_sliding_window(self, name: int, window: int, sinks: int) -> None:
        """Keep the last tokens of a sequence only, and its first `sinks`."""
        one = self.table.get(name, "enable_sliding_window_for_seq")
        wrong = None
        if not (self.config.sliding or self._per_layer_window):
            wrong = "The KV cache does not support sliding window"
        elif one.window != -1:
            wrong = "A sequence cannot be enabled twice for sliding window"
        elif not 0 <= sinks < window:
            wrong = f"a window of {window} tokens with {sinks} sinks"
        elif one.tree:
            wrong = "its tree of tokens is not committed"
        if wrong:
            raise TVMError(
                message(f"a sliding window for sequence {name}", found=wrong,
                        legal="once a sequence, with 0 <= sinks < window, in a cache for windows")
            )  # fmt: skip
        one.window = window
        if not self._per_layer_window:
            one.sinks = one.offset = sinks

    def commit_tree(self, names: Sequence[int], leaves: Sequence[int]) -> None:
        """Keep the tokens from the root to a leaf, and forget the rest of the tree (-1: all)."""
        if len(names) != len(leaves):
            raise TVMError(
                message("commit_accepted_token_tree_nodes", found=f"{len(leaves)} leaves",
                        legal=f"one a sequence: {len(names)}")
            )  # fmt: skip
        chosen = []
        for name, leaf in zip(names, leaves):
            one = self.table.get(name, "commit_accepted_token_tree_nodes")
            if not -1 <= leaf < len(one.tree):
                raise TVMError(
                    message(
                        f"commit_accepted_token_tree_nodes: leaf {leaf} of sequence {name}",
                        found=f"a tree of {len(one.tree)} tokens",
                        legal=f"-1 to {len(one.tree) - 1}",
                    )
                )
            path, node = [], leaf
            while node != -1:
                path.append(node)
                node = one.tree[node]
            chosen.append((one, path[::-1]))
        counts, sources, targets = [0], [], []
        for one, path in chosen:
            base = one.length - len(one.tree)
            moved = [(node, i) for i, node in enumerate(path) if node != i]
            sources += [self.table.slot(one, base + node) for node, _ in moved]
            targets += [self.table.slot(one, base + i) for _, i in moved]
            counts.append(len(sources))
        if sources:
            indptr, moves = self._send(counts), self._send([sources, targets])
            for pages in self.pages:
                self.kernels.compact(pages, indptr, moves, len(chosen))
        for one, path in chosen:
            base = one.length - len(one.tree)
            one.tree, one.depths = [], []
            self.table.truncate(one, base + len(path))

    # --- forward passes ---

    def begin_forward(
        self, names: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None
    ) -> None:
        """Let sequences grow; the layers fill the new slots until `end_forward`."""
        wrong = None
        if len(names) != len(counts):
            wrong = f"{len(names)} sequences, {len(counts)} lengths"
        elif any(count <= 0 for count in counts):
            wrong = "Append with length 0 is not allowed"
        elif len(set(names)) != len(names):
            wrong = "a sequence twice"
        elif sum(counts) > self.config.chunk:
            wrong = f"{sum(counts)} tokens in all"
        if wrong:
            raise TVMError(
                message("begin_forward", found=wrong,
                        legal="different sequences with one positive length each, at most "
                        f"{self.config.chunk} tokens in all")
            )  # fmt: skip
        self._forward = Forward(
            self.table, names, counts, parents, sliding=self.config.sliding,
            per_layer_window=self._per_layer_window, send=self._send,
        )  # fmt: skip

    def end_forward(self) -> None:
        """The new tokens are in; windows slide."""
        for one in self._now("end_forward").sequences:
            if not self._per_layer_window:
                self.table.slide(one)

    def query_positions(self) -> Tensor:
        """The position of each new token in its sequence."""
        return self._now("get_query_positions").positions

    def attention(
        self, layer: int, qkv: Tensor, out: Tensor, scale: float
    ) -> None:
        """Append keys and values of the new tokens, and attend from their queries."""
        now, config, local = self._now("attention"), self.config, self._local(layer)
        width = config.query_heads + 2 * config.heads
        self._check(qkv, (None, width, config.head_dim), "qkv")
        self._check(out, (None, config.query_heads, config.value_dim), "the output")
        q = self._new(now.total, config.query_heads, config.head_dim)
        k = self._new(now.total, config.heads, config.head_dim)
        v = self._new(now.total, config.heads, config.value_dim)
        last: Any = config.rope_factors
        if last is None:
            last = int(config.rope_mode == RopeMode.NORMAL)
        self.kernels.split_rotary(_head(qkv, now.total), now.positions, q, k, v, last)
        result = _head(out, now.total)
        lse = empty((now.total, config.query_heads), "float32", config.device)
        if now.append_first:
            self._append(local, k, v, now)
        self._attend(layer, q, k, v, result, lse, scale, now)
        if not now.append_first:
            self._append(local, k, v, now)

    def _attend(
        self, layer: int, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor,
        scale: float, now: Forward,
    ) -> None:  # fmt: skip
        """Attend to the tokens of this pass and to those in the pages; merge the two."""
        if now.append_first:
            self._attend_pages(layer, q, out, lse, scale, now)
            return
        self._attend_batch(q, k, v, out, lse, scale, now)
        if not self._view(layer, now).is_empty:
            old, old_lse = empty(_shape(out), str(out.dtype), self.config.device), empty(
                _shape(lse), "float32", self.config.device
            )
            self._attend_pages(layer, q, old, old_lse, scale, now)
            self.kernels.merge(out, lse, old, old_lse)

    def _attend_batch(
        self, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, scale: float, now: Forward
    ) -> None:
        """Attend to the tokens of this pass: each to those before it, or above it in its tree."""
        rope = self._rope()
        if now.is_chain:
            kernel = _given(self.kernels.prefill_ragged, "f_attention_prefill_ragged")
            kernel(q, now.indptr, k, v, now.indptr, now.positions, now.starts, out, lse,
                   1, *rope, scale)  # fmt: skip
        else:
            kernel = _given(self.kernels.prefill_tree, "f_attention_prefill_with_tree_mask")
            kernel(q, now.indptr, k, v, now.indptr, now.positions, now.tree_indptr,
                   now.tree_order, out, lse, *rope, scale)  # fmt: skip

    def _attend_pages(
        self, layer: int, q: Tensor, out: Tensor, lse: Tensor, scale: float, now: Forward
    ) -> None:
        """Attend to the tokens in the pages."""
        kernels, view, pages = self.kernels, self._view(layer, now), self.pages[self._local(layer)]
        table = (view.indptr, view.indices, view.lengths)
        if self._kind(layer) == AttnKind.MLA:
            kernel = _given(kernels.prefill_mla, "f_mla_prefill")
            kernel(q, now.indptr, pages, *table, out, lse, 0, scale)
            return
        rest = (*table, view.starts, now.positions, out, lse)
        rope = self._rope()
        if not now.is_chain and now.append_first:
            kernel = _given(
                kernels.prefill_tree_paged, "f_attention_prefill_with_tree_mask_paged_kv"
            )
            kernel(q, now.indptr, pages, *rest, *rope, scale, now.tree_indptr, now.tree_order)
            return
        sliding = self.config.sliding or view is now.windowed
        decode = kernels.decode_sliding if sliding else kernels.decode
        prefill = kernels.prefill_sliding if sliding else kernels.prefill
        if max(now.counts) == 1 and decode is not None:
            decode(q, pages, *rest, *rope, scale)
        else:
            kernel = _given(prefill, "f_attention_prefill" + "_sliding_window" * sliding)
            kernel(q, now.indptr, pages, *rest, 0, *rope, scale)

    # --- the parts of an attention, one by one ---

    def self_attention(
        self, layer: int, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, scale: float
    ) -> None:
        """Attend to the tokens of this pass."""
        self._local(layer)
        self._attend_batch(q, k, v, out, lse, scale, self._now("self_attention"))

    def cross_attention(
        self, layer: int, q: Tensor, out: Tensor, lse: Tensor, scale: float
    ) -> None:
        """Attend to the tokens in the pages."""
        self._attend_pages(layer, q, out, lse, scale, self._now("cross_attention"))

    def append_mla(self, layer: int, kv: Tensor) -> None:
        """Put the compressed keys and values of the new tokens into their pages."""
        now, local = self._now("append_mla_kv"), self._local(layer)
        kernel = _given(self.kernels.append_mla, "f_transpose_append_mla")
        kernel(self.pages[local], _head(kv, now.total), now.append_map)

    def merge(self, out: Tensor, lse: Tensor, other: Tensor, other_lse: Tensor) -> None:
        """Make the first attention that over both sets of tokens."""
        self.kernels.merge(out, lse, other, other_lse)

    def debug_get(self, name: int, start: int, end: int, *outputs: Tensor) -> None:
        """Copy what is cached of a part of a sequence."""
        one = self.table.get(name, "debug_get_kv")
        if not 0 <= start <= end <= one.length:
            raise TVMError(
                message(f"debug_get_kv: positions {start} to {end} of sequence {name}",
                        found=f"{one.length} tokens", legal="a part of them")
            )  # fmt: skip
        if start == end:
            return
        slots = self._send([self.table.slot(one, i) for i in range(start, end)])
        for layer, pages in zip(self.config.layers, self.pages):
            self.kernels.debug_get(pages, slots, *outputs, layer)

    def prepare_receive(self, name: int, count: int) -> list[int]:
        """Let a sequence grow; where the tokens go, as runs: count, then begin and length each."""
        self.begin_forward([name], [count], None)
        slots = self._now("prepare_recv").append_map.numpy()
        breaks = np.flatnonzero(np.diff(slots) != 1) + 1
        runs = np.split(slots, breaks)
        return [len(runs), *[int(n) for run in runs for n in (run[0], len(run))]]

    # --- parts ---

    def _now(self, asked: str) -> Forward:
        if self._forward is None:
            raise TVMError(
                message(asked, found="no forward pass has begun", legal="begin_forward first")
            )
        return self._forward

    def _local(self, layer: int) -> int:
        layers = self.config.layers
        if layer not in layers:
            raise TVMError(
                message(f"attention of layer {layer}", found=f"{len(layers)} layers",
                        legal=f"{layers.start} to {layers.stop - 1}")
            )  # fmt: skip
        return layers.index(layer)

    def _kind(self, layer: int) -> AttnKind:
        return self.config.kinds[self._local(layer)]

    def _view(self, layer: int, now: Forward) -> PagesView:
        if self._kind(layer) == AttnKind.MHA_SLIDING and now.windowed is not None:
            return now.windowed
        return now.cached

    def _rope(self) -> tuple[int, float, float]:
        config = self.config
        inline = int(config.rope_mode == RopeMode.INLINE)
        return inline, config.rope_scale, config.rope_theta

    def _append(self, local: int, k: Tensor, v: Tensor, now: Forward) -> None:
        kernel = _given(self.kernels.append, "f_transpose_append_mha")
        kernel(self.pages[local], k, v, now.append_map)

    def _copy_page(self, source: int, target: int, count: int) -> None:
        for pages in self.pages:
            self.kernels.copy_page(pages, source, target, count)

    def _send(self, values: Any) -> Tensor:
        array = np.array(values, "int32", order="C")
        on_host = self.config.device.type == "cpu"
        return from_host(array) if on_host else tensor(array, self.config.device)

    def _new(self, *shape: int) -> Tensor:
        return empty(shape, self.config.dtype, self.config.device)

    def _check(self, value: Tensor, wanted: tuple[int | None, ...], what: str) -> None:
        found, now = _shape(value), self._now("attention")
        fits = len(found) == len(wanted) and found[0] >= now.total
        fits = fits and all(w is None or f == w for f, w in zip(found, wanted))
        if not fits or str(value.dtype) != self.config.dtype:
            shown = (f"{now.total} or more", *wanted[1:])
            raise ShapeError(
                message(
                    f"attention: {what}",
                    found=f"{value.dtype} of shape {found}",
                    legal=f"{self.config.dtype} of shape ({', '.join(map(str, shown))})",
                )
            )


def _shape(value: Tensor) -> tuple[int, ...]:
    return tuple(int(extent) for extent in value.shape)


def _head(value: Tensor, rows: int) -> Tensor:
    """The first rows of a tensor."""
    shape = _shape(value)
    return value if shape[0] == rows else value._create_view((rows, *shape[1:]))


def _given(kernel: Kernel | None, name: str) -> Kernel:
    if kernel is None:
        raise TVMError(
            message("attention", found=f"the cache was created without {name}",
                    legal="give this kernel to paged_attention_kv_cache_create")
        )  # fmt: skip
    return kernel
