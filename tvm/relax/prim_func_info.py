"""The signature of a TIR function as Relax sees it: buffers are tensors, scalars are numbers."""

from __future__ import annotations

from tvm.ir.expr import STRUCT_INFO_RULES, StructInfo
from tvm.ir.type import PrimType
from tvm.support.dtype import DataType
from tvm.tir.analysis.purity import is_pure_function
from tvm.tir.function import PrimFunc
from tvm.tir.op.arith import cast

from .struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

_INT64 = DataType("int64")


def prim_func_struct_info(func: PrimFunc, *, is_declared: bool = False) -> FuncStructInfo:
    """The struct info of a TIR function, pure where the body changes nothing of its caller's.

    Of one that is only declared the body is not known yet, and may do anything.
    """
    params: list[StructInfo] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is not None:
            shape = [cast(extent, _INT64) for extent in buffer.shape]
            params.append(TensorStructInfo(shape, buffer.dtype))
        elif isinstance(param.type_annotation, PrimType) and not param.dtype.is_handle:
            params.append(PrimStructInfo(param.dtype))
        else:
            params.append(ObjectStructInfo())
    return FuncStructInfo(params, _result(func), not is_declared and is_pure_function(func))


def _result(func: PrimFunc) -> StructInfo:
    kind = func.ret_type
    if isinstance(kind, PrimType) and kind.dtype != "void":
        return ObjectStructInfo() if kind.dtype.is_handle else PrimStructInfo(kind.dtype)
    return TupleStructInfo(())


STRUCT_INFO_RULES.register(PrimFunc.TYPE_KEY, prim_func_struct_info)
