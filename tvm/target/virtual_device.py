"""A device in the abstract: of which kind, for which target, in which memory."""

from __future__ import annotations

from typing import Any, ClassVar, Final, NamedTuple, final

from tvm.error import CheckError, message
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.ir.structural import structural_equal, structural_hash

from .target import Target


class _DeviceNumbers(NamedTuple):
    """A device as its two numbers."""

    kind: int
    index: int  # type: ignore[assignment]

    def dlpack_device_type(self) -> int:
        return self.kind


@final
class VirtualDevice(Node):
    """Where a value lives; parts that are not known are left open. Equal when they say the same."""

    __slots__ = ("device_type_int", "memory_scope", "target", "virtual_device_id")
    TYPE_KEY = "target.VirtualDevice"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "device_type_int", "virtual_device_id", "target", "memory_scope"
    )

    def __init__(self, device: Any = None, target: Any = None, memory_scope: str = "") -> None:
        self.target: Final = None if target is None else Target(target)
        self.memory_scope: Final = memory_scope
        self.device_type_int: Final = (
            int(device.dlpack_device_type())
            if device is not None
            else -1
            if self.target is None
            else self.target.get_target_device_type()
        )
        self.virtual_device_id: Final = -1 if device is None else int(device.index)
        kind = self.device_type_int if self.target is None else self.target.get_target_device_type()
        if kind != self.device_type_int:
            raise CheckError(
                message(
                    f"VirtualDevice: target {self.target} has device type {kind} but virtual "
                    f"device has device type {self.device_type_int}",
                    legal="a device of the target's kind",
                )
            )

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> VirtualDevice:
        """Rebuilt from its parts, of which all may be open."""
        kind, index = (values.get(name, -1) for name in ("device_type_int", "virtual_device_id"))
        assert isinstance(kind, int), "a DLPack device type"
        assert isinstance(index, int), "a number"
        device = None if index < 0 else _DeviceNumbers(kind, index)
        return cls(device, values.get("target"), str(values.get("memory_scope", "")))

    @property
    def device_type(self) -> int:
        """The DLPack device type, under the name that Relay's scripts know; -1 while it is open."""
        return self.device_type_int

    def dlpack_device_type(self) -> int:
        """The DLPack device type; -1 while it is open."""
        return self.device_type_int

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, VirtualDevice) and structural_equal(self, other)
        )

    def __hash__(self) -> int:
        return structural_hash(self, map_free_vars=True)

    def __repr__(self) -> str:
        parts = [f"device_type={self.device_type_int}"] if self.device_type_int >= 0 else []
        if self.virtual_device_id >= 0:
            parts.append(f"virtual_device_id={self.virtual_device_id}")
        if self.target is not None:
            parts.append(f"target={self.target}")
        if self.memory_scope:
            parts.append(f"memory_scope={self.memory_scope!r}")
        return f"VirtualDevice({', '.join(parts) or '?'})"

    __str__ = __repr__


register_nodes(VirtualDevice)
