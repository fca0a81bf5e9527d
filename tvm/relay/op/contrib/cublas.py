"""Products that cuBLAS computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.dataflow_pattern import DFPattern, is_op, wildcard
from tvm.relay.expr import Call

from .partition import partitioned, root_call, tensor_types
from .register import register_pattern_table

_OPS = {"matmul": "nn.matmul", "batch_matmul": "nn.batch_matmul", "dense": "nn.dense"}
_DTYPES = {("float16", "float16"), ("float16", "float32"), ("float32", "float32"),
           ("float64", "float64"), ("int8", "int32")}  # fmt: skip


def partition_for_cublas(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module with functions for cuBLAS; its parameters stay, whatever their values."""
    return partitioned(mod, "cublas", pattern_table())


@register_pattern_table("cublas")
def pattern_table() -> list[tuple[str, DFPattern, Any]]:
    """Products of matrices, of data types that cuBLAS has kernels for."""
    return [
        (f"cublas.{name}", is_op(op)(wildcard(), wildcard()), _check(op))
        for name, op in _OPS.items()
    ]


def _check(op: str) -> Any:
    def fits(matched: Call) -> bool:
        call = root_call(matched, op)
        kinds = {str(found.dtype) for found in tensor_types(call)}
        result: Any = call.checked_type
        return len(kinds) == 1 and (kinds.pop(), str(result.dtype)) in _DTYPES

    return fits
