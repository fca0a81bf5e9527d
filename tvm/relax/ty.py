"""Another name of `tvm.relax.type`, as TVM's scripts import it."""

from tvm.ir.type import FuncType, TupleType, Type

from .type import ObjectType, PackedFuncType, ShapeType, TensorType

__all__ = [
    "FuncType", "ObjectType", "PackedFuncType", "ShapeType", "TensorType", "TupleType", "Type",
]  # fmt: skip
