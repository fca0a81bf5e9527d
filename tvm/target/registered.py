"""Questions about LLVM and targets as functions that are found by name."""

from __future__ import annotations

import importlib
from typing import Any

from tvm.ffi import register_global_func

from . import codegen
from .target import Target


@register_global_func("target.Build")
def build(mod: Any, target: Target) -> Any:
    """Code of lowered functions for one target."""
    return importlib.import_module("tvm.tir.build").codegen_build(mod, target)  # a floor above


@register_global_func("target.llvm_get_intrinsic_name")
def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """The intrinsic behind a number."""
    return codegen.llvm_get_intrinsic_name(intrin_id)


@register_global_func("target.llvm_lookup_intrinsic_id")
def llvm_lookup_intrinsic_id(name: str) -> int:
    """The number of an intrinsic; 0 for none."""
    return codegen.llvm_lookup_intrinsic_id(name)


@register_global_func("target.llvm_version_major")
def llvm_version_major() -> int | None:
    """The major version of LLVM."""
    return codegen.llvm_version_major()


@register_global_func("target.llvm_get_system_triple")
def llvm_get_system_triple() -> str:
    """The triple of this machine."""
    return codegen.llvm_get_system_triple()


@register_global_func("target.llvm_get_system_cpu")
def llvm_get_system_cpu() -> str:
    """LLVM's name of this machine's CPU."""
    return codegen.llvm_get_system_cpu()


@register_global_func("target.llvm_get_system_x86_vendor")
def llvm_get_system_x86_vendor() -> str:
    """The maker of this machine's CPU."""
    return codegen.llvm_get_system_x86_vendor()


@register_global_func("target.llvm_get_targets")
def llvm_get_targets() -> list[str]:
    """The architectures that LLVM makes code for."""
    return codegen.llvm_get_targets()


@register_global_func("target.llvm_get_cpu_archlist")
def llvm_get_cpu_archlist(target: Target | None = None) -> list[str]:
    """The CPUs that LLVM knows for a target."""
    return codegen.llvm_get_cpu_archlist(target)


@register_global_func("target.llvm_get_cpu_features")
def llvm_get_cpu_features(target: Target | None = None) -> dict[str, str]:
    """The features of a target's CPU, each with an empty text."""
    return dict.fromkeys(sorted(codegen.llvm_get_cpu_features(target)), "")


@register_global_func("target.llvm_cpu_has_feature")
def llvm_cpu_has_feature(feature: str, target: Target | None = None) -> bool:
    """Whether a target's CPU has a feature."""
    return codegen.llvm_cpu_has_features(str(feature), target)


@register_global_func("target.target_has_feature")
def target_has_feature(feature: str, target: Target | None = None) -> bool:
    """Whether a target has a feature."""
    return codegen.target_has_features(str(feature), target)


@register_global_func("target.llvm_get_vector_width")
def llvm_get_vector_width(target: Target | None = None) -> int:
    """Bits of a vector register of a target's CPU."""
    return codegen.llvm_get_vector_width(target)
