"""The targets of one compilation, by the devices that they are for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tvm.error import TargetError, message
from tvm.ffi.object import Object

from .kind import CPU
from .target import Target
from .virtual_device import VirtualDevice


class CompilationConfig(Object):
    """Targets with their hosts, where what names no device goes, and where shapes are computed."""

    __slots__ = (
        "default_primitive_virtual_device", "host_target", "host_virtual_device",
        "optional_homogeneous_target", "primitive_targets",
    )  # fmt: skip

    def __init__(self, targets: list[Target], host: Target, fallback: int | None = None) -> None:
        self.primitive_targets: Final = tuple(t if t.host else t.with_host(host) for t in targets)
        self.host_target: Final = host
        self.host_virtual_device: Final = _first_device(CPU, host)
        only = self.primitive_targets[0] if len(self.primitive_targets) == 1 else None
        self.optional_homogeneous_target: Final = only
        kind = CPU if fallback is None else fallback
        if fallback is None and only is not None:
            kind = only.get_target_device_type()
        chosen = self.find_primitive_target_for_device(kind)
        if chosen is None and fallback is None:
            chosen = self.primitive_targets[0]
        if chosen is None:
            kinds = sorted({t.get_target_device_type() for t in self.primitive_targets})
            raise TargetError(
                message(
                    "make_compilation_config: no target is for relay.fallback_device_type",
                    found=str(kind),
                    legal=f"one of {kinds}",
                )
            )
        self.default_primitive_virtual_device: Final = _first_device(
            chosen.get_target_device_type(), chosen
        )

    def find_primitive_target_for_device(self, device_type: int) -> Target | None:
        """The first target for devices of a type (a DLPack number); None where there is none."""
        found = (t for t in self.primitive_targets if t.get_target_device_type() == device_type)
        return next(found, None)

    def canonical_virtual_device(self, virtual_device: VirtualDevice) -> VirtualDevice:
        """The virtual device with the target for its device, if it names none."""
        if virtual_device.target is not None or virtual_device.device_type_int < 0:
            return virtual_device
        target = self.find_primitive_target_for_device(virtual_device.device_type_int)
        if target is None and virtual_device.device_type_int == CPU:
            target = self.host_target
        if target is None:
            return virtual_device
        return VirtualDevice.from_fields({**virtual_device.field_values(), "target": target})


def _first_device(device_type: int, target: Target) -> VirtualDevice:
    """Device 0 of a type."""
    return VirtualDevice.from_fields(
        {"device_type_int": device_type, "virtual_device_id": 0, "target": target}
    )


def make_compilation_config(ctxt: Any, target: Any, target_host: Any = None) -> CompilationConfig:
    """The configuration for a target, several, or a map whose keys are device types.

    `target_host` is by default that of the targets, else the CPU among them, else `llvm`. Where
    nothing names a device, `relay.fallback_device_type` of `ctxt`, a PassContext, says which one
    it is: by default that of the only target, else the CPU.
    """
    if isinstance(target, Mapping) and "kind" not in target:
        given = list(target.values())
    else:
        given = list(target) if isinstance(target, (list, tuple)) else [target]
    targets = [Target.canon_target(one) for one in given]
    if not targets or None in targets:
        raise TargetError(
            message("make_compilation_config", found="no target", legal="one target or several")
        )
    known = [one for one in targets if one is not None]
    host = Target.canon_target(target_host)
    if host is None:
        own = [one.host for one in known if one.host is not None]
        cpus = [one for one in known if one.get_target_device_type() == CPU]
        host = next(iter([*own, *cpus]), None) or Target("llvm")
    fallback = ctxt.config.get("relay.fallback_device_type") if ctxt is not None else None
    return CompilationConfig(known, host, None if fallback is None else int(fallback))
