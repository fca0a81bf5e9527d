"""compile(mod, target): TIR modules become runtime modules, Relax modules executables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tvm.error import message
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.runtime.executable import Executable
from tvm.support.lazy import lazy_names
from tvm.target.target import Target
from tvm.tir.build import build as tir_build
from tvm.tir.build import with_target
from tvm.tir.function import PrimFunc
from tvm.tir.pipeline import lowered

if TYPE_CHECKING:
    from tvm.codegen.build_module import CodeGenBase

PipelineLike: TypeAlias = Callable[[IRModule], IRModule] | str | None

# Graphs are compiled a floor above TIR; whoever compiles only TIR never loads that floor.
_relax = lazy_names(__name__, {"relax_build": "tvm.relax.vm_build:build"})
_relay = lazy_names(__name__, {"to_tir": "tvm.relay.backend.to_tir:to_tir"})


def build(
    mod: PrimFunc | IRModule,
    target: str | Target | None = None,
    pipeline: PipelineLike = "default",
    *,
    codegen: CodeGenBase | str | None = None,
) -> Any:
    """Compile TIR functions; the older name of `compile` for them.

    With `codegen` code is written by a generator of users, given itself or by its name.
    """
    if codegen is not None:
        from tvm.codegen.build_module import build as codegen_build  # loads the backend for C

        return codegen_build(mod, codegen, target, pipeline)
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


def lower(
    inp: PrimFunc | IRModule | Any,
    args: object = None,
    name: str = "main",
    binds: object = None,
    simple_mode: bool = False,
) -> IRModule:
    """Flat loops over memory, as `build` goes on with; a function of TVM before v0.20.

    `inp` is a module, a function, which gets `name`, or a `tvm.tir.Schedule`. With `simple_mode`
    loops stay as they were scheduled.

    `args` and `binds` went with schedules of TE, which are no more: TypeError, as for other `inp`.
    """
    mod = getattr(inp, "mod", inp)  # of a schedule
    if isinstance(mod, PrimFunc):
        mod = IRModule.from_expr(mod.with_attr("global_symbol", name))
    if not isinstance(mod, IRModule) or args is not None or binds is not None:
        raise TypeError(
            message(
                "tvm.lower",
                found=type(inp).__name__ if args is None and binds is None else "args or binds",
                legal="an IRModule, a PrimFunc (tvm.te.create_prim_func makes one of tensors), "
                "or a tir.Schedule",
            )
        )
    target = Target.current()
    return lowered(mod if target is None else with_target(mod, target), simple_mode)


def relay_to_tir(mod: IRModule, functions: Mapping[str, BaseFunc] | None = None) -> IRModule:
    """Functions of Relay as PrimFuncs: each takes its parameters, then tensors for its results.

    `functions` gives those to convert by name, instead of the ones that `mod` has; the rest of
    `mod` is what they call. Without it all functions of `mod` are converted.
    """
    to_tir: Any = _relay("to_tir")
    found: IRModule = to_tir(mod, functions)
    return found


def _contains_relax(mod: IRModule) -> bool:
    return any(
        not isinstance(func, PrimFunc) and func.TYPE_KEY.startswith("relax.")
        for func in mod.functions.values()
    )
