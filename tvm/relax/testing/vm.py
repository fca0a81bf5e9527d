"""Registered functions that programs of tests call: `test.vm.add` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ffi import register_global_func
from tvm.runtime import Device, tensor
from tvm.runtime.vm import VirtualMachine


@register_global_func("test.vm.move")
def move(src: Any) -> Any:
    """The value itself."""
    return src


@register_global_func("test.vm.add")
def add(a: Any, b: Any) -> Any:
    """a + b."""
    return tensor(a.numpy() + b.numpy())


@register_global_func("test.vm.mul")
def mul(a: Any, b: Any) -> Any:
    """a * b."""
    return tensor(a.numpy() * b.numpy())


@register_global_func("test.vm.equal_zero")
def equal_zero(a: Any) -> Any:
    """Whether all elements are zero, as a tensor."""
    return tensor(np.all(a.numpy() == 0))


@register_global_func("test.vm.subtract_one")
def subtract_one(a: Any) -> Any:
    """a - 1."""
    return tensor(np.subtract(a.numpy(), 1))


@register_global_func("test.vm.identity")
def identity_packed(a: Any, b: Any) -> None:
    """b = a."""
    b[:] = tensor(a.numpy())


@register_global_func("test.vm.tile")
def tile_packed(a: Any, b: Any) -> None:
    """b = a, twice along the last dimension."""
    b[:] = tensor(np.tile(a.numpy(), (1, 2)))


@register_global_func("test.vm.add_scalar")
def add_scalar(a: int, b: int) -> int:
    """a + b, of numbers."""
    return a + b


@register_global_func("test.vm.get_device_id")
def get_device_id(device: Device) -> int:
    """The number of a device."""
    return int(device.index)


def check_saved_func(vm: VirtualMachine, func_name: str, *inputs: Any) -> Any:
    """The result of a function, called by a saved form of it that has the inputs."""
    saved_name = f"{func_name}_saved"
    vm.save_function(func_name, saved_name, *inputs)
    return vm[saved_name]()


@register_global_func("test.vm.check_if_defined")
def check_if_defined(obj: Any) -> int:
    """1 if there is a value."""
    return 1 if obj is not None else 0


__all__ = [
    "add", "add_scalar", "check_if_defined", "check_saved_func", "equal_zero",
    "get_device_id", "identity_packed", "move", "mul", "subtract_one", "tile_packed",
]  # fmt: skip
