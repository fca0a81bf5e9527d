"""Facts that a module states once and that its functions refer to."""

from __future__ import annotations

from typing import ClassVar, Final, final

from .node import Field, Node, fields, register_nodes


class GlobalInfo(Node):
    """The root of module-level facts."""

    __slots__ = ()
    TYPE_KEY = "ir.GlobalInfo"


@final
class DummyGlobalInfo(GlobalInfo):
    """A fact without content, for tests of scripts."""

    __slots__ = ()
    TYPE_KEY = "ir.DummyGlobalInfo"

    def __init__(self) -> None: ...


@final
class VDevice(GlobalInfo):
    """A virtual device: a target, which of several, and in which memory."""

    __slots__ = ("memory_scope", "target", "vdevice_id")
    TYPE_KEY = "ir.VDevice"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("target", "vdevice_id", "memory_scope")

    def __init__(
        self, target: object = None, vdevice_id: int = 0, memory_scope: str = "global"
    ) -> None:
        # Target stands a floor above: text and dicts are kept until it is asked for there.
        self.target: Final = target
        self.vdevice_id: Final = vdevice_id
        self.memory_scope: Final = memory_scope


register_nodes(DummyGlobalInfo, VDevice)
