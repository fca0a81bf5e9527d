"""Relay compiled: passes of Relay, then Relax, then native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from tvm.error import message
from tvm.ffi import library
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.meta_schedule.database import Database
from tvm.relax.pipeline import get_pipeline
from tvm.relax.transform import MetaScheduleApplyDatabase
from tvm.relax.vm import VirtualMachine
from tvm.relax.vm_build import build
from tvm.relay.expr import Constant
from tvm.relay.function import Function
from tvm.relay.rewrite import bind
from tvm.relay.to_relax import NotFirstOrder, to_relax
from tvm.relay.ty import FuncType, TensorType, is_dynamic
from tvm.runtime import cpu
from tvm.runtime.container import tuple_object
from tvm.support.arguments import explained
from tvm.target.target import Target

from .interpreter import Executor, Interpreter, as_tensor

USE_DATABASE: Final = "relay.backend.use_meta_schedule"


def target_of(target: Any) -> Target:
    """The target to compile for: the given one, the current one, or llvm."""
    if isinstance(target, (Mapping, list, tuple)) and not target:
        raise ValueError(message("the target", found=repr(target), legal="one target or several"))
    if isinstance(target, Mapping):
        target = next(iter(target.values()))
    if isinstance(target, (list, tuple)):
        target = target[0]
    if target is None:
        return Target.current() or Target("llvm")
    made = target if isinstance(target, Target) else Target(target)
    return made.host or Target("llvm") if made.kind.traits.of_users else made


@explained
def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """`func` with constants for the parameters of the given names; unknown names are ignored."""
    by_name: dict[str, Any] = {}
    for param in func.params:
        if param.name_hint in by_name and param.name_hint in params:
            raise ValueError(
                f"bind_params_by_name: Multiple args in the function have name "
                f"{param.name_hint}; legal: names that tell them apart"
            )
        by_name[param.name_hint] = param
    binds = {
        by_name[n]: v if isinstance(v, Constant) else Constant(v)
        for n, v in params.items()
        if n in by_name
    }
    made = bind(func, binds)
    assert isinstance(made, Function), "a function stays one"
    return made


@explained
def as_module(mod: IRModule | Function, params: Mapping[str, Any] | None = None) -> IRModule:
    """A module whose main has constants for parameters."""
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    if params and "main" in mod:
        main = mod["main"]
        assert isinstance(main, Function), "main is a function of Relay"
        mod = mod.clone()
        mod["main"] = bind_params_by_name(main, params)
    return mod


def compile_module(mod: IRModule, target: Any, name: str = "main") -> Any:
    """The executable of a module.

    Where the context asks for it, kernels have the schedules of the tuning database in force.
    """
    goal = target_of(target)
    with PassContext.current() if _has_setting() else PassContext() as context:
        if not (context.config.get(USE_DATABASE, False) and Database.current() is not None):
            return build(to_relax(mod, name), goal)
        with goal:
            return build(MetaScheduleApplyDatabase()(kernels_of(mod, name)), goal)


def kernels_of(mod: IRModule, name: str = "main") -> IRModule:
    """The module in Relax, its operators fused to kernels in loops."""
    found: IRModule = get_pipeline("zero")(to_relax(mod, name))
    return found


def _has_setting() -> bool:
    from tvm.ir.transform import _STACK

    return bool(_STACK.contexts)


class CompiledExecutor(Executor):
    """Runs compiled code; programs without a form in Relax are interpreted."""

    def __init__(self, mod: IRModule, device: Any, target: Any) -> None:
        self.mod = mod
        self.device = cpu() if device is None else device
        self.target = target

    def _make_executor(self, expr: RelaxExpr | None = None) -> Callable[..., Any]:
        mod, name = self._module_of(expr)
        from tvm.relay.transform import InferType

        mod = InferType()(mod)
        try:
            executable = compile_module(mod, self.target, name)
        except NotFirstOrder:
            return Interpreter(mod, self.device, self.target)._make_executor(
                mod.get_global_var(name)
            )
        machine = VirtualMachine(executable, self.device)
        func = mod[name]

        def run(*args: Any, **kwargs: Any) -> Any:
            given = self._convert_args(func, args, kwargs)  # type: ignore[arg-type]
            return listed(machine[name](*[as_tensor(arg, self.device) for arg in given]))

        return run


class StaticExecutor(CompiledExecutor):
    """Runs functions whose results have extents that are known when they are compiled."""

    WORDS: ClassVar[str]

    def _make_executor(self, expr: RelaxExpr | None = None) -> Callable[..., Any]:
        from tvm.relay.transform import InferType

        mod, name = self._module_of(expr)
        found = InferType()(mod)[name].checked_type
        if isinstance(found, FuncType) and is_dynamic(found.ret_type):
            asked = f"{self.WORDS} only supports static graphs, got output type"
            legal = 'create_executor("vm")'
            raise ValueError(message(asked, found=str(found.ret_type), legal=legal))
        run = super()._make_executor(expr)
        func = mod[name]
        assert isinstance(func, Function), "what runs is a function of Relay"

        def converting(*args: Any, **kwargs: Any) -> Any:
            given = self._convert_args(func, args, kwargs)
            return run(*(_as_assigned(param, arg) for param, arg in zip(func.params, given)))

        return converting


def _as_assigned(param: Any, arg: Any) -> Any:
    """An array as numpy would assign it to an input; all other arguments as they are."""
    kind = getattr(param, "_checked_type_", None) or param.type_annotation
    if isinstance(arg, np.ndarray) and isinstance(kind, TensorType):
        return arg.astype(library().dtype(str(kind.dtype)), copy=False)
    return arg


def listed(value: Any) -> Any:
    """What a machine gives, as users see it: tensors, and tuples of them."""
    if hasattr(value, "numpy"):
        return value
    return tuple_object(listed(field) for field in value)
