"""A virtual machine at the other end of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.runtime._device import Device
from tvm.runtime._tensor import Tensor, tensor
from tvm.runtime.benchmark import BenchmarkResult
from tvm.runtime.executable import Executable
from tvm.runtime.module import Module
from tvm.runtime.profiling import Report
from tvm.runtime.vm import VirtualMachine, as_tuples

from .remote import RemoteFunction, RPCModule, RPCObjectRef, seconds


class RemoteVirtualMachine(VirtualMachine):
    """What `VirtualMachine` gives for a program that a session has loaded."""

    def __init__(
        self,
        rt_mod: Module | Executable,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: str | Mapping[Device, str] | None = None,
        profile: bool = False,
    ) -> None:
        assert isinstance(rt_mod, RPCModule), "VirtualMachine looked"
        self._link = rt_mod._link
        given = [device] if isinstance(device, library().core.Device) else list(device or ())
        self.devices = given or [self._link.device(Device("cpu"))]
        self._vm = self._link.builtin_for(
            RPCObjectRef, "rpc.builtin.vm_create", rt_mod, self.devices,
            memory_cfg if isinstance(memory_cfg, str) else None, profile,
        )  # fmt: skip

    def _there(self, value: Any) -> Any:
        """A value at the other end; arrays of this side are copied there."""
        if isinstance(value, (list, tuple, library().Array)):
            return [self._there(item) for item in value]
        if isinstance(value, np.ndarray) or (
            isinstance(value, Tensor) and not value.device.is_remote
        ):
            return tensor(value, self.devices[0])
        return value

    def __getitem__(self, key: str) -> Callable[..., Any]:
        func = self._link.builtin_for(RemoteFunction, "rpc.builtin.vm_function", self._vm, key)
        return lambda *args: func(*(self._there(arg) for arg in args))

    def _call(self, method: str, *args: Any, **named: Any) -> Any:
        given = [self._there(arg) for arg in args]
        kept = {name: self._there(value) for name, value in named.items()}
        return self._link.builtin("rpc.builtin.vm_call", self._vm, method, given, kept)

    def invoke_closure(self, closure: Any, *args: Any) -> Any:
        return self._call("invoke_closure", closure, *args)

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        self._call(
            "save_function", func_name, saved_name, *args, include_return=include_return, **kwargs
        )

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        self._call("set_input", func_name, *args, **kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        self._call("invoke_stateful", func_name)

    def get_outputs(self, func_name: str) -> Any:
        return as_tuples(self._call("get_outputs", func_name))

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        raise TVMError(
            message(
                "set_instrument",
                found="a program at the other end of a session",
                legal="a program of this process",
            )
        )

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        measure = self._link.builtin_for(
            RemoteFunction, "rpc.builtin.vm_time_evaluator", self._vm, func_name, dev,
            [number, repeat, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown, f_preproc],
        )  # fmt: skip

        def evaluate(*args: Any) -> BenchmarkResult:
            return seconds(measure(*(self._there(arg) for arg in args)))

        return evaluate

    def profile(self, func_name: str, *args: Any) -> Report:
        given = [self._there(arg) for arg in args]
        return Report.from_json(
            self._link.builtin_for(str, "rpc.builtin.vm_profile", self._vm, func_name, given)
        )
