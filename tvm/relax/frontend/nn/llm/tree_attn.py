"""Attention where the tokens of a sequence are a tree: each sees those above it."""

from __future__ import annotations

from typing import Any

from tvm import tir
from tvm.target import Target

from .attention import Heads
from .attention_kernels import paged, ragged


def tree_attn_cpu(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: dict[str, Any]
) -> tir.PrimFunc:
    """Rows attend to the rows above them; see `attention_kernels.ragged`."""
    heads = Heads(h_q, h_kv, d, d, dtype, rope_scaling)
    return ragged("batch_tree_attn_cpu", heads, Target("llvm"), tree=True)


def tree_attn(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: dict[str, Any], target: Target
) -> tir.PrimFunc:
    """As `tree_attn_cpu`, on what runs the target's kernels."""
    heads = Heads(h_q, h_kv, d, d, dtype, rope_scaling)
    return ragged("batch_tree_attn", heads, target, tree=True)


def tree_attn_with_paged_kv_cache_cpu(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: dict[str, Any], page_size: int = 16
) -> tir.PrimFunc:
    """Rows attend to pages whose last tokens are trees; see `attention_kernels.paged`."""
    heads = Heads(h_q, h_kv, d, d, dtype, rope_scaling)
    name = "tree_attn_paged_kv_cpu"
    return paged(name, heads, False, page_size, Target("llvm"), tree=True)


def tree_attn_with_paged_kv_cache(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: dict[str, Any], target: Target,
    page_size: int = 16,
) -> tir.PrimFunc:  # fmt: skip
    """As `tree_attn_with_paged_kv_cache_cpu`, on what runs the target's kernels."""
    heads = Heads(h_q, h_kv, d, d, dtype, rope_scaling)
    return paged("tree_attn_paged_kv", heads, False, page_size, target, tree=True)
