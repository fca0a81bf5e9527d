"""Executors: from an expression to a Python function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relay.expr import Call, Constant, Let, RefCreate, Tuple, TupleGetItem, Var, const
from tvm.relay.function import Function
from tvm.relay.traverse import wrap_lets
from tvm.relay.variables import free_vars
from tvm.runtime import cpu, tensor
from tvm.runtime._tensor import Tensor
from tvm.runtime.container import tuple_object
from tvm.support.recursion import nested_programs

from .evaluate import Closure, ConstructorValue, Machine, RefValue


def to_value(arg: Any) -> Any:
    """An argument as a value: arrays, tuples of them, data and functions."""
    if isinstance(arg, Constant):
        return arg.data.numpy()
    if isinstance(arg, Tuple):
        return tuple(to_value(field) for field in arg.fields)
    if isinstance(arg, (ConstructorValue, RefValue, Closure, RelaxExpr)):
        return arg
    if isinstance(arg, (tuple, list)):
        return tuple(to_value(field) for field in arg)
    if hasattr(arg, "numpy") and not isinstance(arg, np.ndarray):
        return arg.numpy()
    if isinstance(arg, bool):
        return np.array(arg)
    if isinstance(arg, int):
        return np.array(arg, "int32")
    if isinstance(arg, float):
        return np.array(arg, "float32")
    return np.asarray(arg)


def as_expr(value: Any) -> RelaxExpr:
    """An expression of a value: constants, tuples, references and data made of them."""
    if isinstance(value, RelaxExpr):
        return value
    if isinstance(value, ConstructorValue):
        return Call(value.constructor, [as_expr(field) for field in value.fields])
    if isinstance(value, RefValue):
        return RefCreate(as_expr(value.value))
    if isinstance(value, Closure):
        return value.func
    if isinstance(value, (tuple, list)):
        return Tuple([as_expr(field) for field in value])
    return const(value)


def from_value(value: Any) -> Any:
    """A value as users see it: tensors of the runtime."""
    if isinstance(value, ConstructorValue):
        fields = [from_value(field) for field in value]
        return ConstructorValue(value.tag, fields, value.constructor)
    if isinstance(value, (tuple, list)):
        return tuple_object(from_value(field) for field in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return tensor(np.asarray(value))
    if isinstance(value, RefValue):
        return RefValue(from_value(value.value))
    return value


def arguments(func: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments of a call in the order of the parameters."""
    return named_arguments([param.name_hint for param in func.params], args, kwargs)


def named_arguments(
    names: Sequence[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[Any]:
    """The arguments of a call in the order of the names."""
    found = list(args)
    given = dict(kwargs)
    for name in names[len(found) :]:
        if name in given:
            found.append(given.pop(name))
    if given:
        raise TypeError(f"no parameters {sorted(given)}; legal: {list(names)}")
    if len(found) != len(names):
        raise ValueError(f"{len(found)} arguments for the parameters {list(names)}")
    return found


class Executor:
    """Runs expressions in the setting of a module; subclasses say how."""

    mod: IRModule

    def _convert_args(
        self, expr: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """The arguments in the order of the parameters; calls among them are evaluated first."""
        found = arguments(expr, args, kwargs)
        return [self.evaluate(a) if isinstance(a, (Call, TupleGetItem, Let)) else a for a in found]

    def _make_executor(self, expr: RelaxExpr | None = None) -> Callable[..., Any]:
        raise NotImplementedError

    def evaluate(
        self, expr: RelaxExpr | None = None, binds: Mapping[Var, Any] | None = None
    ) -> Any:
        """A function that runs `expr` (or main) if it is a function; its value otherwise."""
        if binds:
            if expr is None:
                raise ValueError("evaluate: binds without an expression")
            lets = [Let(v, as_expr(value), v) for v, value in binds.items()]
            expr = wrap_lets(lets, expr)
        if expr is None or isinstance(expr, (Function, GlobalVar)):
            if isinstance(expr, Function) and free_vars(expr):
                raise ValueError("evaluate: the function has free variables; bind them")
            return self._make_executor(expr)
        return self._make_executor(Function([], expr))()

    def _module_of(self, expr: RelaxExpr | None) -> tuple[IRModule, str]:
        """A module in which `expr` is a function, and its name."""
        if expr is None:
            return self.mod, "main"
        if isinstance(expr, GlobalVar):
            return self.mod, expr.name_hint
        assert isinstance(expr, Function), "others were made functions"
        mod = self.mod.clone()
        mod["main"] = expr
        return mod, "main"


class Interpreter(Executor):
    """Runs what has kernels compiled, and everything else step by step."""

    def __init__(self, mod: IRModule, device: Any, target: Any) -> None:
        self.mod = mod
        self.device = cpu() if device is None else device
        self.target = target

    def _make_executor(self, expr: RelaxExpr | None = None) -> Callable[..., Any]:
        from tvm.relay.qnn.transform import without_quantized
        from tvm.relay.transform import InferType

        mod, name = self._module_of(expr)
        typed = without_quantized(InferType()(mod))
        func = typed[name]
        machine = Machine(typed)

        def run(*args: Any, **kwargs: Any) -> Any:
            given = [to_value(arg) for arg in self._convert_args(func, args, kwargs)]  # type: ignore[arg-type]
            with nested_programs():
                return from_value(machine.apply(Closure(func, {}), given))  # type: ignore[arg-type]

        return run


def as_tensor(value: Any, device: Any) -> Any:
    """An argument of compiled code."""
    if isinstance(value, Tuple):
        value = value.fields
    if isinstance(value, (tuple, list)):
        return tuple(as_tensor(field, device) for field in value)
    if isinstance(value, Tensor):
        return value
    return tensor(np.asarray(to_value(value)), device)
