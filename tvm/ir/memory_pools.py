"""Regions of a board's memory, as scripts for microcontrollers describe them to a build.

They say what there is: names, sizes, speeds, and which targets reach a region. Nothing here plans
memory; functions are given as much as they ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, final

from .node import Field, Node, all_of_type, fields, register_nodes


class PoolInfo(Node):
    """The root of regions. What a target may do with one is written in two letters."""

    __slots__ = ()
    TYPE_KEY = "ir.PoolInfo"

    READ_WRITE_ACCESS: ClassVar = "rw"
    READ_ONLY_ACCESS: ClassVar = "ro"

    def __getattr__(self, name: str) -> Any:
        """Size and speed stand in the properties; a region shows them as its own."""
        if name in PoolInfoProperties.__slots__:
            return getattr(self.pool_info_properties, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@final
class PoolInfoProperties(Node):
    """Size and speed of a region; -1 stands for what is not known.

    `target_burst_bytes` tells, for each target, how many bytes one transfer moves.
    """

    __slots__ = (
        "clock_frequency_hz", "read_bandwidth_bytes_per_cycle", "read_latency_cycles",
        "size_hint_bytes", "target_burst_bytes", "write_bandwidth_bytes_per_cycle",
        "write_latency_cycles",
    )  # fmt: skip
    TYPE_KEY = "ir.PoolInfoProperties"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "size_hint_bytes", "clock_frequency_hz", "read_bandwidth_bytes_per_cycle",
        "write_bandwidth_bytes_per_cycle", "read_latency_cycles", "write_latency_cycles",
        "target_burst_bytes",
    )  # fmt: skip

    def __init__(
        self,
        size_hint_bytes: int = -1,
        clock_frequency_hz: int = -1,
        read_bandwidth_bytes_per_cycle: int = -1,
        write_bandwidth_bytes_per_cycle: int = -1,
        read_latency_cycles: int = 0,
        write_latency_cycles: int = 0,
        target_burst_bytes: Mapping[Any, int] | None = None,
    ) -> None:
        self.size_hint_bytes: Final = int(size_hint_bytes)
        self.clock_frequency_hz: Final = int(clock_frequency_hz)
        self.read_bandwidth_bytes_per_cycle: Final = int(read_bandwidth_bytes_per_cycle)
        self.write_bandwidth_bytes_per_cycle: Final = int(write_bandwidth_bytes_per_cycle)
        self.read_latency_cycles: Final = int(read_latency_cycles)
        self.write_latency_cycles: Final = int(write_latency_cycles)
        self.target_burst_bytes: Final = dict(target_burst_bytes or {})


@final
class ConstantInfo(Node):
    """A constant that lies at an offset within a region."""

    __slots__ = ("byte_offset", "data", "name_hint")
    TYPE_KEY = "ir.ConstantInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name_hint", "byte_offset", "data")

    def __init__(self, name_hint: str, byte_offset: int, data: Any) -> None:
        self.name_hint: Final = name_hint
        self.byte_offset: Final = int(byte_offset)
        self.data: Final = data


@final
class WorkspacePoolInfo(PoolInfo):
    """A region for what functions compute, and the targets that reach it."""

    __slots__ = ("pool_info_properties", "pool_name", "targets")
    TYPE_KEY = "ir.WorkspacePoolInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pool_name", "targets", "pool_info_properties")

    def __init__(
        self,
        pool_name: str,
        targets: Sequence[Any],
        pool_info_properties: PoolInfoProperties | None = None,
    ) -> None:
        self.pool_name: Final = pool_name
        self.targets: Final = tuple(targets)
        self.pool_info_properties: Final = pool_info_properties or PoolInfoProperties()

    @property
    def is_internal(self) -> bool:
        """Whether the compiler made the region itself: it describes those of users alone."""
        return False


@final
class ConstantPoolInfo(PoolInfo):
    """A region for constants, the targets that reach it, and what lies in it already."""

    __slots__ = ("constant_info_array", "pool_info_properties", "pool_name", "targets")
    TYPE_KEY = "ir.ConstantPoolInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "pool_name", "targets", "constant_info_array", "pool_info_properties"
    )

    def __init__(
        self,
        pool_name: str,
        targets: Sequence[Any],
        constant_info_arr: Sequence[ConstantInfo] | None = None,
        pool_info_properties: PoolInfoProperties | None = None,
    ) -> None:
        self.pool_name: Final = pool_name
        self.targets: Final = tuple(targets)
        self.constant_info_array: Final = all_of_type(
            constant_info_arr or (), ConstantInfo, "a constant of a region"
        )
        self.pool_info_properties: Final = pool_info_properties or PoolInfoProperties()


@final
class WorkspaceMemoryPools(Node):
    """The regions for what functions compute, the preferred one first."""

    __slots__ = ("pools",)
    TYPE_KEY = "ir.WorkspaceMemoryPools"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pools")

    def __init__(self, pools: Sequence[PoolInfo]) -> None:
        self.pools: Final = all_of_type(pools, PoolInfo, "a region")


@final
class ConstantMemoryPools(Node):
    """The regions for constants, the preferred one first."""

    __slots__ = ("pools",)
    TYPE_KEY = "ir.ConstantMemoryPools"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pools")

    def __init__(self, pools: Sequence[ConstantPoolInfo]) -> None:
        self.pools: Final = all_of_type(pools, ConstantPoolInfo, "a region for constants")


register_nodes(
    PoolInfoProperties, ConstantInfo, WorkspacePoolInfo, ConstantPoolInfo, WorkspaceMemoryPools,
    ConstantMemoryPools,
)  # fmt: skip
