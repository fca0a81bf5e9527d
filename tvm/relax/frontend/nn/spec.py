"""What the arguments of exported methods are.

    {"forward": {"x": spec.Tensor([1, "n"], "float32"), "total": int,
                 "$": {"param_mode": "packed", "effect_mode": "none"}}}

Parameters (`param_mode`) and effects (`effect_mode`) of a function are `plain` ones, each of its
own, one `packed` tuple, or `none`: not handed in.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm.error import ArgumentCountError, KindError, message

if typing.TYPE_CHECKING:
    from .core import Module as nn_module_class

MODES = ("plain", "packed", "none")


class Int:
    """An integer: a symbol that shapes can use."""

    def __init__(self) -> None:
        pass

    def __repr__(self) -> str:
        return "int"


class Tensor:
    """A tensor; an extent that is a str is a symbol of this name."""

    shape: list[int | str]
    dtype: str

    def __init__(self, shape: Sequence[int | str], dtype: str) -> None:
        self.shape = list(shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(str(dim) for dim in self.shape)}], '{self.dtype}')"


class Object:
    """A value of a subclass of `nn.Object`."""

    object_type: type

    def __init__(self, object_type: type) -> None:
        self.object_type = object_type

    def __repr__(self) -> str:
        return "object"


class Tuple:
    """Several values under one name."""

    name: str
    elements: Any

    def __init__(self, name: str, elements: list[Any] | tuple[Any, ...]) -> None:
        if not isinstance(elements, (tuple, list)):
            raise KindError(
                message(f"the elements of spec.Tuple {name!r}", found=type(elements).__name__,
                        legal="a list or a tuple")
            )  # fmt: skip
        self.name = name
        self.elements = elements

    def __repr__(self) -> str:
        return repr(self.elements)


ArgSpecType: TypeAlias = "Int | Tensor | Object | Tuple"


class MethodSpec:
    """A method that becomes a function, with its arguments."""

    method: Callable[..., Any]
    arg_names: list[str]
    arg_specs: list[ArgSpecType]
    param_mode: str
    effect_mode: str

    def __init__(
        self,
        method: Callable[..., Any],
        arg_names: list[str],
        arg_specs: list[ArgSpecType],
        param_mode: str,
        effect_mode: str,
    ) -> None:
        for key, mode in (("param_mode", param_mode), ("effect_mode", effect_mode)):
            if mode not in MODES:
                raise ValueError(
                    message(f"{key} of a method", found=repr(mode),
                            legal=", ".join(map(repr, MODES)))
                )  # fmt: skip
        self.method = method
        self.arg_names = arg_names
        self.arg_specs = arg_specs
        self.param_mode = param_mode
        self.effect_mode = effect_mode

    def _repr(self, name: str) -> str:
        args = ", ".join(f"{n}: {s}" for n, s in zip(self.arg_names, self.arg_specs))
        return f"{name}({args})"

    def __repr__(self) -> str:
        return self._repr(name="MethodSpec")

    @staticmethod
    def from_raw(spec: MethodSpecType, method: Callable[..., Any]) -> MethodSpec:
        """A spec from a dict of the arguments' specs; `"$"` holds the modes."""
        if isinstance(spec, MethodSpec):
            return spec
        given = dict(spec)
        modes: Any = given.pop("$", {})
        names = list(inspect.signature(method).parameters)
        unknown = [name for name in given if name not in names]
        if unknown:
            raise TypeError(
                message(f"the spec of {getattr(method, '__name__', 'a method')}",
                        found=f"the argument {unknown[0]!r}", legal=", ".join(names) or "none")
            )  # fmt: skip
        names = [name for name in names if name in given]
        specs = [_converted(given[name], name) for name in names]
        return MethodSpec(
            method, names, specs,
            param_mode=modes.get("param_mode", "plain"),
            effect_mode=modes.get("effect_mode", "plain"),
        )  # fmt: skip

    @staticmethod
    def from_torch(args: list[Any], method: Callable[..., Any]) -> MethodSpec:
        """A spec of tensors of torch and integers, as examples of the arguments."""
        names = list(inspect.signature(method).parameters)
        if len(args) != len(names):
            raise ArgumentCountError(
                message("arguments of a method", found=f"{len(args)} examples",
                        legal=f"{len(names)}: {', '.join(names)}")
            )  # fmt: skip
        specs = [_of_example(arg, name) for arg, name in zip(args, names)]
        return MethodSpec(method, names, specs, param_mode="plain", effect_mode="plain")


MethodSpecType: TypeAlias = "MethodSpec | dict[str, Any]"


def _converted(spec: Any, name: str) -> ArgSpecType:
    if spec is Int or spec is int or (isinstance(spec, str) and spec == "int"):
        return Int()
    if isinstance(spec, (Int, Tensor, Object)):
        return spec
    if isinstance(spec, Tuple):
        spec = spec.elements
    if isinstance(spec, (tuple, list)):
        parts = [_converted(part, f"{name}_{i}") for i, part in enumerate(spec)]
        return Tuple(name, type(spec)(parts))
    raise TypeError(
        message(f"the spec of the argument {name!r}", found=f"{spec!r}",
                legal="spec.Tensor, spec.Object, int, or a tuple or list of such")
    )  # fmt: skip


def _of_example(arg: Any, name: str) -> ArgSpecType:
    if isinstance(arg, int):
        return Int()
    if isinstance(arg, (tuple, list)):
        parts = [_of_example(part, f"{name}_{i}") for i, part in enumerate(arg)]
        return Tuple(name, type(arg)(parts))
    if hasattr(arg, "shape") and hasattr(arg, "dtype"):
        return Tensor([int(dim) for dim in arg.shape], str(arg.dtype).removeprefix("torch."))
    raise TypeError(
        message(f"the example of the argument {name!r}", found=type(arg).__name__,
                legal="a tensor, an int, or a tuple or list of such")
    )  # fmt: skip


class ModuleSpec:
    """The methods of a module that become functions."""

    module: nn_module_class
    method_names: list[str]
    method_specs: list[MethodSpec]

    def __init__(
        self,
        module: nn_module_class,
        method_names: list[str],
        method_specs: list[MethodSpec],
    ) -> None:
        self.module = module
        self.method_names = method_names
        self.method_specs = method_specs

    @staticmethod
    def from_raw(spec: ModuleSpecType, module: nn_module_class) -> ModuleSpec:
        """A spec from a dict of specs of methods."""
        if isinstance(spec, ModuleSpec):
            return spec
        missing = [name for name in spec if not hasattr(module, name)]
        if missing:
            raise AttributeError(
                message(f"the spec of {type(module).__name__}",
                        found=f"the method {missing[0]!r}", legal="methods that it has")
            )  # fmt: skip
        specs = [MethodSpec.from_raw(part, getattr(module, name)) for name, part in spec.items()]
        return ModuleSpec(module, list(spec), specs)

    def __repr__(self) -> str:
        lines = [
            "  " + spec._repr(name) for name, spec in zip(self.method_names, self.method_specs)
        ]
        return "\n".join(["ModuleSpec:", *lines])


ModuleSpecType: TypeAlias = "ModuleSpec | dict[str, Any]"
