"""Kernels of sampling: top-p and top-k over probabilities that fall along each row.

`sums` are those of the probabilities up to each. A kernel looks at all places of a row at once,
so that threads of a GPU can share them: the place where a condition changes writes the result.
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
        for i, j in T.grid(batch, vocabulary):
            with T.block("T_get_renorm_prob"):
                row, at = T.axis.remap("SS", [i, j])
                first, last = T.meta_var(_first(at)), T.meta_var(_last(at))
                T.reads(sums[row, first : first + (last - first)], top_p[row, 0], top_k[row, 0])
                T.writes(kept[row, 0])
                if not (sums[row, 0] < top_p[row, 0] and top_k[row, 0] > 1):
                    kept[row, 0] = sums[row, 0]
                elif sums[row, at] < top_p[row, 0] and at + T.int64(1) < top_k[row, 0]:
                    if at + T.int64(1) == vocabulary:
                        kept[row, 0] = sums[row, at]
                    elif not (
                        sums[row, at + T.int64(1)] < top_p[row, 0]
                        and at + T.int64(1) + T.int64(1) < top_k[row, 0]
                    ):
                        kept[row, 0] = sums[row, at + T.int64(1)]

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
        sums = T.match_buffer(sums_handle, (batch, vocabulary), dtype)
        index = T.match_buffer(index_handle, (batch, vocabulary), index_type)
        kept = T.match_buffer(kept_handle, (batch, 1), dtype)
        count = T.int64(is_size_var=True)
        sample = T.match_buffer(sample_handle, (count, 1), dtype)
        rows = T.match_buffer(rows_handle, (count, 1), row_type)
        chosen = T.match_buffer(out, (count, 1), index_type)
        for i, j in T.grid(count, vocabulary):
            with T.block("T_get_index_from_sorted"):
                row, at = T.axis.remap("SS", [i, j])
                if (
                    sample[row, T.int64(0)]
                    < sums[rows[row, T.int64(0)], at] / kept[rows[row, T.int64(0)], 0]
                    or at + T.int64(1) == vocabulary
                ):
                    if at == T.int64(0):
                        chosen[row, 0] = index[rows[row, T.int64(0)], 0]
                    elif (
                        sample[row, T.int64(0)]
                        >= sums[rows[row, T.int64(0)], at - T.int64(1)]
                        / kept[rows[row, T.int64(0)], 0]
                    ):
                        chosen[row, 0] = index[rows[row, T.int64(0)], at]

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
        batch, vocabulary = T.int64(), T.int64()
        prob = T.match_buffer(prob_handle, (batch, vocabulary), dtype)
        sums = T.match_buffer(sums_handle, (batch, vocabulary), dtype)
        top_p = T.match_buffer(top_p_handle, (batch, 1), dtype)
        top_k = T.match_buffer(top_k_handle, (batch, 1), count_type)
        least = T.match_buffer(out, (batch, 1), dtype)
        for i, j in T.grid(batch, vocabulary):
            with T.block("T_get_renorm_cutoff"):
                row, at = T.axis.remap("SS", [i, j])
                first, last = T.meta_var(_first(at)), T.meta_var(_last(at))
                T.reads(
                    sums[row, first : first + (last - first)],
                    top_p[row, 0],
                    top_k[row, 0],
                    prob[row, first : first + (last - first)],
                )
                T.writes(least[row, 0])
                if (sums[row, 0] < top_p[row, 0] and top_k[row, 0] > 1) == T.bool(False):
                    least[row, 0] = prob[row, 0]
                elif (
                    sums[row, at] < top_p[row, 0] and at + T.int64(1) < top_k[row, 0]
                ) == T.bool(True):
                    if at + T.int64(1) == vocabulary:
                        least[row, 0] = prob[row, at]
                    elif (
                        sums[row, at + T.int64(1)] < top_p[row, 0]
                        and at + T.int64(1) + T.int64(1) < top_k[row, 0]
                    ) == T.bool(False):
                        least[row, 0] = prob[row, at + T.int64(1)]

    return get_renorm_cutoff


def _first(at: tir.Var) -> tir.PrimExpr:
    """The first of the places 0, `at` and `at + 1`."""
    return tir.Min(tir.Min(_int64(0), at), at + _int64(1))


def _last(at: tir.Var) -> tir.PrimExpr:
    """The one after the last of them."""
    return tir.Max(tir.Max(_int64(0), at), at + _int64(1)) + _int64(1)


def _int64(value: int) -> tir.IntImm:
    return tir.IntImm("int64", value)
