"""Another name of `tvm.relax.type`, as TVM's scripts import it."""

from .type import ObjectType, PackedFuncType, ShapeType, TensorType

__all__ = ["ObjectType", "PackedFuncType", "ShapeType", "TensorType"]
