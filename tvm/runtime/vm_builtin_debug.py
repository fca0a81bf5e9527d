"""Looking at values while a model runs: `vm.builtin.invoke_debug_func`, `debug_print`."""

from __future__ import annotations

from typing import Any

from tvm.ffi import get_global_func

from ._tensor import Tensor
from .vm_builtin import _builtin


@_builtin("invoke_debug_func")
def invoke_debug_func(io_effect: Any, func_name: str, line_info: str, *args: Any) -> Any:
    """Call a registered function with a source location and values; gives the effect back.

    The effect that goes through keeps calls in the order in which they were written.
    """
    get_global_func(str(func_name))(str(line_info), *args)
    return io_effect


@_builtin("debug_print")
def debug_print(line_info: str, value: Any) -> None:
    """Print a value, and where it was asked for."""
    if isinstance(value, Tensor):
        shape = ", ".join(map(str, value.shape))
        print(f"{line_info}: shape = ({shape}), dtype = {value.dtype}, data =\n{value.numpy()}")
    else:
        print(f"{line_info}: {value}")
