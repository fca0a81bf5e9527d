"""Tensor expressions: tensors defined by what each element is, turned into loop programs.

A = te.placeholder((n, k)); B = te.placeholder((k, m)); r = te.reduce_axis((0, k))
C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r))
func = te.create_prim_func([A, B, C])
"""

from tvm.tir import (
    abs,
    acos,
    acosh,
    add,
    all,
    any,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    ceildiv,
    comm_reducer,
    cos,
    cosh,
    div,
    erf,
    exp,
    floor,
    floordiv,
    floormod,
    fmod,
    if_then_else,
    indexdiv,
    indexmod,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    max,
    max_value,
    min,
    min_value,
    multiply,
    nearbyint,
    popcount,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    subtract,
    sum,
    tan,
    tanh,
    trace,
    trunc,
    truncdiv,
    truncmod,
)
from tvm.tir.index_map import IndexMap as _IndexMap

from .create_prim_func import create_prim_func
from .operation import (
    compute,
    const,
    extern,
    extern_primfunc,
    placeholder,
    reduce_axis,
    scan,
    size_var,
    thread_axis,
    var,
)
from .tag import tag_scope
from .tensor import (
    BaseComputeOp,
    ComputeOp,
    ExternOp,
    Operation,
    PlaceholderOp,
    ScanOp,
    Tensor,
    TensorSlice,
)

AXIS_SEPARATOR = _IndexMap.AXIS_SEPARATOR

__all__ = [
    "AXIS_SEPARATOR",
    "BaseComputeOp", "ComputeOp", "ExternOp", "Operation", "PlaceholderOp", "ScanOp", "Tensor",
    "TensorSlice", "abs", "acos", "acosh", "add", "all", "any", "asin", "asinh", "atan", "atanh",
    "ceil", "ceildiv", "comm_reducer", "compute", "const", "cos", "cosh", "create_prim_func",
    "div", "erf", "exp", "extern", "extern_primfunc", "floor", "floordiv", "floormod", "fmod",
    "if_then_else", "indexdiv", "indexmod", "isfinite", "isinf", "isnan", "log", "log10",
    "log1p", "log2", "logaddexp", "max", "max_value", "min", "min_value", "multiply",
    "nearbyint", "placeholder", "popcount", "power", "reduce_axis", "round", "rsqrt", "scan",
    "sigmoid", "sin", "sinh", "size_var", "sqrt", "subtract", "sum", "tag_scope", "tan", "tanh",
    "thread_axis", "trace", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip

_GONE = {
    "create_schedule": "tvm.tir.Schedule(te.create_prim_func([...])) schedules what it computes",
    "Schedule": "tvm.tir.Schedule schedules the functions that te.create_prim_func makes",
    "hybrid": "T.prim_func of tvm.script says loops, te.extern and te.scan what has a state",
}


def __getattr__(name: str) -> object:
    if name in _GONE:
        raise AttributeError(f"tvm.te.{name} is no more: {_GONE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
