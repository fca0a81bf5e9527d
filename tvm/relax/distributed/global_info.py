"""The mesh of devices that tensors are spread over, a fact of the module."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Final, final

from tvm.error import CheckError, message
from tvm.ir.expr import Range
from tvm.ir.global_info import GlobalInfo
from tvm.ir.node import Field, fields, listed, number, register_nodes
from tvm.tir.expr import IntImm


@final
class DeviceMesh(GlobalInfo):
    """Devices in a grid: `shape` extents, and the device number at each mesh coordinate.

    Numbers are a list in row-major order, or a range; `device_range` is None for a list. A range
    and a list of the same numbers are equal.
    """

    __slots__ = ("device_ids", "device_range", "shape")
    TYPE_KEY = "relax.distributed.DeviceMesh"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("shape", "device_ids", "device_range~")

    def __init__(
        self,
        shape: Sequence[int],
        device_ids: Sequence[int] | Range,
        device_range: Range | None = None,
    ) -> None:
        if isinstance(device_ids, Range):
            device_range = device_ids
            first, count = (_number(n) for n in (device_range.min, device_range.extent))
            device_ids = range(first, first + count)
        self.shape: Final = _numbers(shape, "DeviceMesh: shape")
        self.device_ids: Final = _numbers(device_ids, "DeviceMesh: device_ids")
        self.device_range: Final = device_range
        if math.prod(self.shape) != len(self.device_ids):
            raise CheckError(
                message(
                    "The number of device ids must match the product of the shape",
                    found=f"{len(self.device_ids)} ids for the shape {self.shape}",
                    legal=f"{math.prod(self.shape)} ids",
                )
            )


def _numbers(values: Sequence[int], what: str) -> tuple[int, ...]:
    return tuple([number(int, value, f"one of {what}") for value in listed(values, what)])


def _number(value: object) -> int:
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, int):
        return value
    raise CheckError(
        message("DeviceMesh: the range of devices", found=f"{value}", legal="known numbers")
    )


def device_mesh(shape: Sequence[int], device_ids: Sequence[int] | Range) -> DeviceMesh:
    """A mesh of devices."""
    return DeviceMesh(shape, device_ids)


register_nodes(DeviceMesh)
