"""Weights of `nn.dense` that are mostly zeros."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr

from .sparse_weights import SparseAnalysisResult, process, weight_names


def process_params(
    expr: RelaxExpr, params: dict[str, Any], block_size: Any, sparsity_threshold: float
) -> SparseAnalysisResult:
    """Give `params` of dense weights as blocks where at least `sparsity_threshold` is zero.

    The names and the extents are what `relay.transform.DenseToSparse` takes.
    """
    names = _search_dense_op_weight(expr)
    return process(names, params, block_size, sparsity_threshold, lambda weight: weight)


def _search_dense_op_weight(expr: RelaxExpr) -> list[str]:
    return weight_names(expr, "nn.dense")
