"""Runtimes of other projects: functions that the process of a device has registered."""

from __future__ import annotations

from typing import Any

from tvm.ffi import get_global_func
from tvm.runtime import Device


def function_of(device: Device, name: str) -> Any:
    """The function of a name where the device is: at its server, or in this process."""
    session = getattr(device, "_rpc_sess", None)
    return get_global_func(name) if session is None else session.get_function(name)
