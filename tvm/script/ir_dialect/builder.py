"""The builder functions of `I`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import ScriptError
from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar, Range
from tvm.ir.function import BaseFunc
from tvm.ir.global_info import DummyGlobalInfo, GlobalInfo, VDevice
from tvm.ir.module import IRModule
from tvm.script.ir_builder.base import IRBuilder

from .frame import IRModuleFrame, module_frame

# Python runs the body of a module's class before the parser reads it. What is said there means
# something only while a module is under construction.


def ir_module() -> IRModuleFrame:
    """A module."""
    return IRModuleFrame()


def decl_function(func_name: str, func_signature: BaseFunc) -> GlobalVar:
    """Declare a function by its signature."""
    return module_frame("I.decl_function").declare(func_name, func_signature)


def def_function(func_name: str, func: BaseFunc) -> None:
    """Give a declared function its body."""
    frame = module_frame("I.def_function")
    if func_name not in frame.global_vars:
        raise ScriptError(f"function {func_name} does not exist; legal: I.decl_function first")
    frame.define(func_name, func)


def module_attrs(attrs: Mapping[str, Any] | DictAttrs, allow_overwrite: bool = False) -> None:
    """Give the module attributes."""
    if not IRBuilder.is_in_scope():
        return
    frame = module_frame("I.module_attrs")
    if frame.attrs and not allow_overwrite:
        raise ScriptError(f"Duplicate module attrs, previous one is: {frame.attrs}")
    frame.attrs = dict(attrs.items())


def current_ir_module() -> IRModuleFrame:
    """The module under construction."""
    return module_frame("I.current_ir_module")


def module_get_attrs() -> dict[str, Any]:
    """The attributes given so far."""
    return dict(module_frame("I.module_get_attrs").attrs)


def module_get_attr(attr_key: str) -> Any:
    """One attribute, or None."""
    return module_frame("I.module_get_attr").attrs.get(attr_key)


def module_set_attr(attr_key: str, attr_value: Any, allow_overwrite: bool = False) -> None:
    """Give the module one attribute."""
    if not IRBuilder.is_in_scope():
        return
    frame = module_frame("I.module_set_attr")
    if attr_key in frame.attrs and not allow_overwrite:
        raise ScriptError(f"Duplicate module attr {attr_key}")
    frame.attrs[attr_key] = attr_value


def module_global_infos(global_infos: Mapping[str, Sequence[GlobalInfo]]) -> None:
    """Give the module global infos."""
    if not IRBuilder.is_in_scope():
        return
    frame = module_frame("I.module_global_infos")
    if frame.global_infos:
        raise ScriptError("Duplicate module global_infos")
    frame.global_infos.update({name: list(infos) for name, infos in global_infos.items()})


def dummy_global_info() -> DummyGlobalInfo:
    """A global info without content."""
    return DummyGlobalInfo()


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """A virtual device."""
    return VDevice(target, vdevice_id, memory_scope)


def lookup_vdevice(target_kind: str | None = None, device_index: int = -1) -> VDevice | None:
    """The module's virtual device of a kind and number; the first one by default."""
    found = [
        info
        for info in module_frame("I.lookup_vdevice").global_infos.get("vdevice", [])
        if isinstance(info, VDevice)
    ]
    if target_kind is None:
        index = max(device_index, 0)
        return found[index] if index < len(found) else None
    same = [info for info in found if _kind(info) == target_kind]
    index = max(device_index, 0)
    if index < len(same):
        return same[index]
    raise ScriptError(
        f"lookup_vdevice: no vdevice {target_kind!r} number {index} among the module's "
        f"{len(found)} vdevices"
    )


def _kind(info: VDevice) -> str:
    target: Any = info.target
    if isinstance(target, Mapping):
        return str(target["kind"])
    kind = getattr(target, "kind", None)
    return str(getattr(kind, "name", kind)) if kind is not None else str(target).split()[0]


__all__ = [
    "GlobalVar", "IRModule", "Range", "current_ir_module", "decl_function", "def_function",
    "dummy_global_info", "ir_module", "lookup_vdevice", "module_attrs", "module_get_attr",
    "module_get_attrs", "module_global_infos", "module_set_attr", "vdevice",
]  # fmt: skip
