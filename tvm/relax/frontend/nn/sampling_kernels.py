"""Kernels of sampling: top-p and top-k over probabilities that fall along each row.

`sums` are those of the probabilities up to each.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from tvm import tir
from tvm.tir.script import language as T


def renorm_prob(dtype: str, count_type: str) -> tir.PrimFunc:
    """What the tokens that are left have together: the sum up to the last of them."""

    @T.prim_func(private=True)
    def get_renorm_prob(
        sums_handle: T.handle, top_p_handle: T.handle, top_k_handle: T.handle, out: T.handle
    ):
        batch, vocabulary = T.int64(is_size_var=True), T.int64(is_size_var=True)
        sums = T.match_buffer(sums_handle, (batch, vocabulary), dtype)
        top_p = T.match_buffer(top_p_handle, (batch, 1), dtype)
        top_k = T.match_buffer(top_k_handle, (batch, 1), count_type)
        kept = T.match_buffer(out, (batch, 1), dtype)
        for i in range(batch):
            with T.block("T_get_renorm_prob"):
                row = T.axis.spatial(batch, i)
                kept[row, 0] = sums[row, 0]
                for j in range(vocabulary - 1):
                    if sums[row, j] < top_p[row, 0] and j + 1 < T.Cast("int64", top_k[row, 0]):
                        kept[row, 0] = sums[row, j + 1]

    return get_renorm_prob


def index_from_sorted(dtype: str, index_type: str, row_type: str) -> tir.PrimFunc:
    """The token at which the sums pass a uniform number's share of what is kept."""

    @T.prim_func(private=True)
    def get_index_from_sorted(
        sums_handle: T.handle,
        index_handle: T.handle,
        kept_handle: T.handle,
        sample_handle: T.handle,
        rows_handle: T.handle,
        out: T.handle,
    ):
        batch, vocabulary = T.int64(is_size_var=True), T.int64(is_size_var=True)
        count = T.int64(is_size_var=True)
        sums = T.match_buffer(sums_handle, (batch, vocabulary), dtype)
        index = T.match_buffer(index_handle, (batch, vocabulary), index_type)
        kept = T.match_buffer(kept_handle, (batch, 1), dtype)
        sample = T.match_buffer(sample_handle, (count, 1), dtype)
        rows = T.match_buffer(rows_handle, (count, 1), row_type)
        chosen = T.match_buffer(out, (count, 1), index_type)
        for i in range(count):
            with T.block("T_get_index_from_sorted"):
                at = T.axis.spatial(count, i)
                chosen[at, 0] = index[rows[at, 0], 0]
                for j in range(vocabulary - 1):
                    if (
                        sums[rows[at, 0], j] <= sample[at, 0] * kept[rows[at, 0], 0]
                        and sums[rows[at, 0], j] < kept[rows[at, 0], 0]
                    ):
                        chosen[at, 0] = index[rows[at, 0], j + 1]

    return get_index_from_sorted


def least_prob(dtype: str, count_type: str) -> tir.PrimFunc:
    """The smallest probability among the tokens that are left."""

    @T.prim_func(private=True)
    def get_renorm_cutoff(
        prob_handle: T.handle,
        sums_handle: T.handle,
        top_p_handle: T.handle,
        top_k_handle: T.handle,
        out: T.handle,
    ):
        batch, vocabulary = T.int64(is_size_var=True), T.int64(is_size_var=True)
        prob = T.match_buffer(prob_handle, (batch, vocabulary), dtype)
        sums = T.match_buffer(sums_handle, (batch, vocabulary), dtype)
        top_p = T.match_buffer(top_p_handle, (batch, 1), dtype)
        top_k = T.match_buffer(top_k_handle, (batch, 1), count_type)
        least = T.match_buffer(out, (batch, 1), dtype)
        for i in range(batch):
            with T.block("T_get_renorm_cutoff"):
                row = T.axis.spatial(batch, i)
                least[row, 0] = prob[row, 0]
                for j in range(vocabulary - 1):
                    if sums[row, j] < top_p[row, 0] and j + 1 < T.Cast("int64", top_k[row, 0]):
                        least[row, 0] = prob[row, j + 1]

    return get_renorm_cutoff
