"""Facts that a module states once and that its functions refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from tvm.support.registry import Registry

from .node import Field, Node, fields, number, of_type, register_nodes
from .structural import structural_equal, structural_hash


class GlobalInfo(Node):
    """The root of module-level facts. Two are equal when they say the same."""

    __slots__ = ()
    TYPE_KEY = "ir.GlobalInfo"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, GlobalInfo) and structural_equal(self, other)
        )

    def __hash__(self) -> int:
        return structural_hash(self, map_free_vars=True)


@final
class DummyGlobalInfo(GlobalInfo):
    """A fact without content, for tests of scripts."""

    __slots__ = ()
    TYPE_KEY = "ir.DummyGlobalInfo"

    def __init__(self) -> None: ...


# Targets stand a floor above; their maker is found by name when a device is given by text or dict.
TARGET_MAKERS: Final[Registry[Callable[[Any], Node]]] = Registry("target maker", "tvm.target")


@final
class VDevice(GlobalInfo):
    """A virtual device: a target, which of several, and in which memory."""

    __slots__ = ("memory_scope", "target", "vdevice_id")
    TYPE_KEY = "ir.VDevice"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("target", "vdevice_id", "memory_scope")

    def __init__(
        self, target: object = None, vdevice_id: int = 0, memory_scope: str = "global"
    ) -> None:
        if isinstance(target, (str, Mapping)):
            target = TARGET_MAKERS.get("target")(target)
        self.target: Final = target
        self.vdevice_id: Final = number(int, vdevice_id, "VDevice: vdevice_id")
        self.memory_scope: Final = of_type(memory_scope, str, "VDevice: memory_scope")


register_nodes(DummyGlobalInfo, VDevice)
