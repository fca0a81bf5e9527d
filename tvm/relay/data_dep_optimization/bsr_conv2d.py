"""Kernels of convolutions that are mostly zeros, given as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.analysis.sparse_conv2d import process_params
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.function import Function
from tvm.relay.transform import Conv2dToSparse, Conv2dToSparse2, InferType


def convert(
    func: Function, params: Mapping[str, Any], blocksize: Any, sparsity_threshold: float,
    layout: str = "NHWC", kernel_size: int = 1,
) -> tuple[Function, dict[str, Any]]:  # fmt: skip
    """`func` and `params` where kernels of which at least the threshold is zero are blocks."""
    made = dict(params)
    found = process_params(func, made, blocksize, sparsity_threshold, layout, kernel_size)
    rewrite = Conv2dToSparse(found.weight_name, found.weight_shape, layout, kernel_size)
    main = rewrite(IRModule.from_expr(func))["main"]
    assert isinstance(main, Function), "a function stays one"
    return main, made


def convert2(
    func: Function, params: Mapping[str, Any], blocksize: Any, sparsity_threshold: float,
    layout: str, kernel_size: int,
) -> tuple[Function, dict[str, Any]]:  # fmt: skip
    """As `convert`, with the parameters as constants of the function."""
    bound = InferType()(IRModule.from_expr(bind_params_by_name(func, params)))
    main = Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold)(bound)["main"]
    assert isinstance(main, Function), "a function stays one"
    return main, dict(params)
