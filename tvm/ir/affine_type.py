"""What the integers of a quantized tensor stand for: real = scale * (integer - zero point)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, final

from .node import Field, Node, all_of_type, fields, register_nodes


class AffineType(Node):
    """The root of affine types."""

    __slots__ = ()
    TYPE_KEY = "ir.AffineType"


@final
class TensorAffineType(AffineType):
    """Scale and zero point of a tensor, for all of it or for each index along `axis`."""

    __slots__ = ("axis", "dtype", "scale", "zero_point")
    TYPE_KEY = "ir.TensorAffineType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("scale", "zero_point", "dtype", "axis")

    def __init__(self, scale: Any, zero_point: Any, dtype: str, axis: int = -1) -> None:
        self.scale: Final = scale
        self.zero_point: Final = zero_point
        self.dtype: Final = str(dtype)
        self.axis: Final = int(axis)


@final
class TupleAffineType(AffineType):
    """The affine types of a tuple's fields."""

    __slots__ = ("types",)
    TYPE_KEY = "ir.TupleAffineType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("types")

    def __init__(self, types: Sequence[TensorAffineType]) -> None:
        self.types: Final = all_of_type(types, TensorAffineType, "the types of a TupleAffineType")


register_nodes(TensorAffineType, TupleAffineType)
