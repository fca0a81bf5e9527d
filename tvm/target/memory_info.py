"""What a special memory of a device is like."""

from __future__ import annotations

from typing import ClassVar, Final

from tvm.ir.expr import PrimExpr
from tvm.ir.node import Field, Node, fields, register_nodes


class MemoryInfo(Node):
    """Memory in units of `unit_bits`, `max_num_bits` of it; its address, if it has one.

    At most `max_simd_bits` are accessed at once.
    """

    __slots__ = ("head_address", "max_num_bits", "max_simd_bits", "unit_bits")
    TYPE_KEY = "target.MemoryInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "unit_bits", "max_num_bits", "max_simd_bits", "head_address"
    )

    def __init__(
        self,
        unit_bits: int,
        max_num_bits: int,
        max_simd_bits: int,
        head_address: PrimExpr | None = None,
    ) -> None:
        self.unit_bits: Final = int(unit_bits)
        self.max_num_bits: Final = int(max_num_bits)
        self.max_simd_bits: Final = int(max_simd_bits)
        self.head_address: Final = head_address


register_nodes(MemoryInfo)
