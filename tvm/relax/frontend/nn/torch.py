"""A compiled network that takes and gives tensors of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import runtime
from tvm.error import message
from tvm.relax.vm import VirtualMachine
from tvm.runtime import Tensor
from tvm.runtime.conversion import ShapeTuple

from . import spec as _spec


class TorchModule:
    """`module["forward"](x)`: calls of a compiled network's functions.

    It keeps the effects (caches, say) from one call to the next, and hands parameters in. Tensors
    share their memory with torch where the device does.
    """

    spec: _spec.ModuleSpec
    vm: VirtualMachine
    params: list[Tensor]
    effects: list[Any] | None

    def __init__(self, spec: _spec.ModuleSpec, vm: VirtualMachine, params: list[Tensor]) -> None:
        self.spec = spec
        self.vm = vm
        self.params = params
        has_effects = vm.module.implements_function("_initialize_effect")
        self.effects = list(vm["_initialize_effect"]()) if has_effects else None

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        names = self.spec.method_names
        if method_name not in names:
            raise ValueError(
                message(f"the method {method_name!r} of a compiled network",
                        found=f"methods {', '.join(names)}", legal="one of them")
            )  # fmt: skip
        method = self.spec.method_specs[names.index(method_name)]
        func = self.vm[method_name]

        def call(*args: Any) -> Any:
            if len(args) != len(method.arg_specs):
                raise TypeError(
                    message(f"arguments of {method_name!r}", found=f"{len(args)}",
                            legal=f"{len(method.arg_specs)}: {', '.join(method.arg_names)}")
                )  # fmt: skip
            given = [
                _to_tvm(arg, part, name)
                for arg, part, name in zip(args, method.arg_specs, method.arg_names)
            ]
            effects = self.effects if method.effect_mode != "none" else None
            if method.effect_mode == "packed":  # an argument also where there is none
                given.append(tuple(effects or ()))
            elif effects is not None:
                given += effects
            if method.param_mode != "none":
                given += [tuple(self.params)] if method.param_mode == "packed" else self.params
            result = func(*given)
            if effects is not None:
                result, after = result
                self.effects = list(after)
            return _to_torch(result)

        return call


def _to_tvm(arg: Any, spec: _spec.ArgSpecType, name: str) -> Any:
    if isinstance(spec, _spec.Int):
        if not isinstance(arg, int):
            found = type(arg).__name__
            raise TypeError(message(f"the argument {name!r}", found=found, legal="int"))
        return ShapeTuple([arg])
    if isinstance(spec, _spec.Tuple):
        parts = zip(arg, spec.elements)
        return tuple(_to_tvm(part, inner, f"{name}_{i}") for i, (part, inner) in enumerate(parts))
    if isinstance(spec, _spec.Object) or isinstance(arg, Tensor):
        return arg
    if not hasattr(arg, "__dlpack__"):
        raise TypeError(
            message(f"the argument {name!r}", found=type(arg).__name__, legal="a tensor of torch")
        )
    return runtime.from_dlpack(arg.contiguous() if hasattr(arg, "contiguous") else arg)


def _to_torch(value: Any) -> Any:
    import torch.utils.dlpack

    if isinstance(value, Tensor):
        return torch.utils.dlpack.from_dlpack(value)
    if isinstance(value, (tuple, list)) or hasattr(value, "__getitem__"):
        return [_to_torch(part) for part in value]
    return value
