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

    def __init__(self, targets: list[Target], host: Target) -> None:
        self.primitive_targets: Final = tuple(t if t.host else t.with_host(host) for t in targets)
        self.host_target: Final = host
        self.host_virtual_device: Final = VirtualDevice(None, host)
        self.default_primitive_virtual_device: Final = VirtualDevice(
            None, self.primitive_targets[0]
        )
        only = self.primitive_targets[0] if len(self.primitive_targets) == 1 else None
        self.optional_homogeneous_target: Final = only


def make_compilation_config(ctxt: Any, target: Any, target_host: Any = None) -> CompilationConfig:
    """The configuration for a target, several, or a map whose keys are device types.

    `target_host` is by default that of the targets, else the CPU among them, else `llvm`. The
    options of `ctxt`, a PassContext, do not change it.
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
    return CompilationConfig(known, host)
