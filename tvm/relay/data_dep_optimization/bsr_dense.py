"""Dense weights that are mostly zeros, given as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.analysis.sparse_dense import process_params
from tvm.relay.function import Function
from tvm.relay.transform import DenseToSparse


def convert(
    func: Function, params: Mapping[str, Any], blocksize: Any, sparsity_threshold: float
) -> tuple[Function, dict[str, Any]]:
    """`func` and `params` where weights of which at least the threshold is zero are blocks."""
    made = dict(params)
    found = process_params(func, made, blocksize, sparsity_threshold)
    main = DenseToSparse(found.weight_name, found.weight_shape)(IRModule.from_expr(func))["main"]
    assert isinstance(main, Function), "a function stays one"
    return main, made
