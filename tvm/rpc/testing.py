"""Functions to try sessions out with; servers find them by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ffi import register_global_func
from tvm.runtime import Tensor, tensor
from tvm.runtime.conversion import String


@register_global_func("rpc.test.addone", override=True)
def _addone(x: int) -> int:
    return x + 1


@register_global_func("rpc.test.strcat", override=True)
def _strcat(name: str, x: int) -> str:
    return f"{name}:{x}"


@register_global_func("rpc.test.except", override=True)
def _except(name: str) -> None:
    raise ValueError(f"{name}")


@register_global_func("rpc.test.runtime_str_concat", override=True)
def _concat(x: str, y: str) -> object:
    return String(x + y)


@register_global_func("rpc.test.remote_tensor_func", override=True)
def _remote_tensor(y: Tensor) -> None:
    np.testing.assert_equal(y.numpy(), np.ones((3, 4)))


@register_global_func("rpc.test.add_to_lhs", override=True)
def _add_to_lhs(x: int) -> Callable[[int], int]:
    return lambda y: x + y


@register_global_func("rpc.test.sleep", override=True)
def _sleep(seconds: float) -> None:
    time.sleep(seconds)


@register_global_func("rpc.test.remote_return_nd", override=True)
def _return_tensor(mode: str) -> Callable[..., Any]:
    values = tensor(np.zeros(10))
    functions: dict[str, Callable[..., Any]] = {
        "get_arr": lambda: values,
        "get_elem": lambda i: float(values.numpy()[int(i)]),
        "get_arr_elem": lambda array, i: float(array.numpy()[int(i)]),
    }
    return functions[mode]
