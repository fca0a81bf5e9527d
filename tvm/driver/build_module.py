"""compile(mod, target): TIR modules become runtime modules, Relax modules executables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

from tvm.error import message
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.runtime.executable import Executable
from tvm.support.lazy import lazy_names
from tvm.target.target import Target
from tvm.tir.build import build as tir_build
from tvm.tir.function import PrimFunc

PipelineLike: TypeAlias = Callable[[IRModule], IRModule] | str | None

# Graphs are compiled a floor above TIR; whoever compiles only TIR never loads that floor.
_relax = lazy_names(__name__, {"relax_build": "tvm.relax.vm_build:build"})


def build(
    mod: PrimFunc | IRModule,
    target: str | Target | None = None,
    pipeline: PipelineLike = "default",
) -> Any:
    """Compile TIR functions; the older name of `compile` for them."""
    warnings.warn(
        "build is deprecated. Use `compile` or `tir.build` instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return tir_build(mod, target, pipeline)


def compile(
    mod: BaseFunc | IRModule,
    target: str | Target | None = None,
    *,
    relax_pipeline: PipelineLike = "default",
    tir_pipeline: PipelineLike = "default",
) -> Any:
    """Compile a module.

    A module with a Relax function becomes an executable for `tvm.relax.VirtualMachine`; one of
    PrimFuncs only becomes an executable whose `mod` has their functions.
    """
    if isinstance(mod, BaseFunc) and not isinstance(mod, PrimFunc):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, (IRModule, PrimFunc)):
        raise TypeError(
            message(
                "tvm.compile",
                found=type(mod).__name__,
                legal="an IRModule, a PrimFunc, or a relax Function",
            )
        )
    if isinstance(mod, IRModule) and _contains_relax(mod):
        relax_build: Any = _relax("relax_build")
        return relax_build(
            mod,
            target,
            relax_pipeline=relax_pipeline,
            tir_pipeline=tir_pipeline,
            exec_mode="compiled",
        )
    return Executable(tir_build(mod, target, tir_pipeline))


def _contains_relax(mod: IRModule) -> bool:
    return any(
        not isinstance(func, PrimFunc) and func.TYPE_KEY.startswith("relax.")
        for func in mod.functions.values()
    )
