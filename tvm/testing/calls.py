"""Functions to try calls out with: values that come back, errors of each kind, callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tvm.error import InternalError, message
from tvm.ffi import get_global_func, register_global_func
from tvm.runtime import Device


def nop(*args: Any) -> Any:
    """Takes anything, and gives nothing."""
    return get_global_func("testing.nop")(*args)


def echo(value: Any) -> Any:
    """The argument, after a way through the ABI."""
    return get_global_func("testing.echo")(value)


identity_cpp = register_global_func("testing.identity_cpp", echo)


def run_check_signal(seconds: int) -> None:
    """Works below the ABI for a time, and stops at signals."""
    get_global_func("testing.run_check_signal")(seconds)


@register_global_func("testing.sleep_in_ffi")
def sleep_in_ffi(seconds: float) -> None:
    """Sleeps for a time."""
    time.sleep(seconds)


@register_global_func("testing.device_test")
def device_test(dev: Device, device_type: int, device_id: int) -> Device:
    """The device, which must have the type and the number."""
    found = (int(dev.device_type), dev.device_id)
    if found != (device_type, device_id):
        raise InternalError(message("device_test: the device is another", found=f"{found}"))
    return dev


def object_use_count(value: Any) -> int:
    """How many hold an object of the ABI."""
    found: int = get_global_func("testing.object_use_count")(value)
    return found


def test_raise_error(kind: str, msg: str) -> None:
    """Raises an error of a kind, from below the ABI."""
    get_global_func("testing.test_raise_error")(kind, msg)


@register_global_func("testing.ErrorTest")
def ErrorTest(x: int, y: int) -> None:
    """InternalError for two numbers that differ."""
    test_check_eq_callback("ErrorTest")(x, y)


@register_global_func("testing.test_wrap_callback")
def test_wrap_callback(callback: Callable[[], Any]) -> Callable[[], None]:
    """A function that calls another."""

    def wrapped() -> None:
        callback()

    return wrapped


@register_global_func("testing.test_check_eq_callback")
def test_check_eq_callback(msg: str) -> Callable[[int, int], None]:
    """A function that wants two equal numbers."""

    def check(x: int, y: int) -> None:
        if x != y:
            raise InternalError(message("Check failed: x == y", found=f"{x} vs. {y}", where=msg))

    return check
