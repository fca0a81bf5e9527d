"""Functions that tests run in worker processes."""

from __future__ import annotations

import time
from typing import TypeVar

from tvm.ffi import get_global_func, register_global_func

Value = TypeVar("Value")
_state: list[object] = []


def initializer(
    test_global_state_1: object, test_global_state_2: object, test_global_state_3: object
) -> None:
    """Set the process up: `after_initializer` tells what it was given."""
    _state[:] = [test_global_state_1, test_global_state_2, test_global_state_3]


def after_initializer() -> tuple[object, ...]:
    """What the initializer was given."""
    return tuple(_state)


def identity_py(arg: Value) -> Value:
    """The argument."""
    return arg


def register_ffi() -> None:
    """Make `identity_py` a global function."""
    register_global_func("testing.identity_py", identity_py, override=True)


def call_py_ffi(arg: object) -> object:
    """Call a function written in Python through the registry."""
    return get_global_func("testing.identity_py")(arg)


def call_cpp_ffi(arg: object) -> object:
    """Call a function of the library, written in C++, through the registry."""
    return get_global_func("testing.echo")(arg)


def call_cpp_py_ffi(arg: object) -> object:
    """Call a function of the library that calls one written in Python."""
    return get_global_func("testing.apply")(identity_py, arg)


def fast_summation(n: int) -> int:
    """0 + 1 + ... + n, at once."""
    return n * (n + 1) // 2


def slow_summation(n: int) -> int:
    """0 + 1 + ... + n, step by step."""
    total = 0
    for i in range(n + 1):
        total += i
    return total


def timeout_job(n: float) -> None:
    """Take half as long again as n seconds."""
    time.sleep(n * 1.5)
