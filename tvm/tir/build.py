"""From TIR functions to a module that runs: lower, split by target, generate code, put together."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tvm.backend import BACKENDS, find_backend, known_backend, makes_host_code
from tvm.backend.llvm.kept_kernels import OtherParameters, with_kept_kernels
from tvm.error import CheckError, TargetError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.runtime.module import Module
from tvm.support.contiguous_frames import contiguous_frames
from tvm.support.garbage import infrequent_gc
from tvm.support.recursion import nested_programs
from tvm.target.target import Target

from . import transform as t
from .function import PrimFunc
from .kernels_apart import with_made_kernels
from .pipeline import (
    finalize_device_passes,
    finalize_host_passes,
    get_default_tir_pipeline,
    get_tir_pipeline,
    host_code_passes,
)

PipelineLike: TypeAlias = Callable[[IRModule], IRModule] | str | None


@infrequent_gc()
@contiguous_frames
def build(
    mod: PrimFunc | IRModule,
    target: str | Target | None = None,
    pipeline: PipelineLike = "default",
) -> Module:
    """Compile PrimFuncs; the result is called by the functions' global symbols.

    `target` is by default that of the context, of the functions, or `llvm`. `pipeline` is a name, a
    pass, or None for the target's own.
    """
    if isinstance(mod, PrimFunc):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise TypeError(
            message(
                "tir.build",
                found=type(mod).__name__,
                legal="an IRModule or a PrimFunc",
            )
        )
    with nested_programs():
        return _build(mod, chosen_target(mod, target), pipeline)


def _build(mod: IRModule, chosen: Target, pipeline: PipelineLike) -> Module:
    host = chosen.host if chosen.host is not None else host_of(chosen)
    mod = with_target(only_prim_funcs(mod), chosen)
    backend = known_backend(chosen.kind.name)
    if pipeline == "default" and backend is not None and backend.keeps_kernels:
        try:
            kept = with_made_kernels(with_kept_kernels(mod, chosen), chosen)
            return _lowered(kept, pipeline, chosen, host)
        except OtherParameters:
            pass
    return _lowered(mod, pipeline, chosen, host)


def with_target(mod: IRModule, target: Target) -> IRModule:
    """The functions with their target, and its host where that is another machine."""
    if not makes_host_code(target):
        target = target.with_host(target.host if target.host is not None else host_of(target))
    return t.BindTarget(target)(mod)


def _lowered(mod: IRModule, pipeline: PipelineLike, chosen: Target, host: Target) -> Module:
    mod = pipeline_of(pipeline, chosen)(mod)
    host_mod, device_mods = split_host_device_mods(mod)
    host_mod = finalize_host_passes()(host_mod)
    finalize = finalize_device_passes()
    finished = {device: finalize(part) for device, part in device_mods.items()}
    return tir_to_runtime(host_mod, finished, host)


def chosen_target(mod: IRModule, target: str | Target | None) -> Target:
    """The given target, else that of the context, of the functions, or llvm."""
    if target is not None:
        return target if isinstance(target, Target) else Target(target)
    current = Target.current()
    if current is not None:
        return current
    for _, func in mod.functions_items():
        own = func.attrs.get("target")
        if isinstance(own, Target):
            return own
    return Target("llvm")


def host_of(target: Target) -> Target:
    """The target of the code that launches what is for `target`."""
    return target if makes_host_code(target) else Target("llvm")


def only_prim_funcs(mod: IRModule) -> IRModule:
    """Graph functions are compiled elsewhere; they may stand beside the kernels that they call."""
    kept = {var: func for var, func in mod.functions.items() if isinstance(func, PrimFunc)}
    if not kept:
        raise CheckError(
            message("tir.build", found="a module without a PrimFunc", legal="at least one")
        )
    return mod.with_functions(kept)


def pipeline_of(pipeline: PipelineLike, target: Target) -> Callable[[IRModule], IRModule]:
    """A pipeline given by name, as a function, or as None for the target's own."""
    if pipeline is None:
        return get_default_tir_pipeline(target)
    return get_tir_pipeline(pipeline) if isinstance(pipeline, str) else pipeline


def split_host_device_mods(mod: IRModule) -> tuple[IRModule, dict[Target, IRModule]]:
    """The functions that run on the host, and those of each device target."""
    host: dict[GlobalVar, PrimFunc] = {}
    devices: dict[Target, dict[GlobalVar, PrimFunc]] = {}
    for var, func in mod.functions.items():
        assert isinstance(func, PrimFunc), "other functions were left out before"
        target = func.attrs.get("target")
        if isinstance(target, Target) and not makes_host_code(target):
            devices.setdefault(target, {})[var] = func
        else:
            host[var] = func
    parts = {
        target: mod.with_functions(functions)
        for target, functions in sorted(devices.items(), key=lambda item: str(item[0]))
    }
    return mod.with_functions(host), parts


def codegen_build(mod: IRModule, target: Target | str) -> Module:
    """Machine code, or source, of lowered functions for one target."""
    target = Target(target)
    if makes_host_code(target):
        mod = Sequential(host_code_passes())(mod)
    return find_backend(target.kind.name).build(mod, target)


def tir_to_runtime(
    host_mod: IRModule, device_mod_dict: Mapping[Target, IRModule], target_host: Target
) -> Module:
    """The host's code, which imports that of the devices."""
    if not makes_host_code(target_host):
        raise TargetError(
            message(
                f"host code for target kind {target_host.kind.name!r}",
                found="a backend for devices only",
                legal=", ".join(name for name, one in BACKENDS.items() if one.makes_host_code),
            )
        )
    host = find_backend(target_host.kind.name).build(host_mod, target_host)
    for target, part in device_mod_dict.items():
        host.import_module(codegen_build(part, target))
    return host


class _CallableModule(types.ModuleType):
    """`tvm.tir.build` is this module for `import`, and the function for everybody else."""

    def __call__(self, *args: Any, **kwargs: Any) -> Module:
        return build(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
