"""The registry of global functions."""

from tvm.ffi import get_global_func, list_global_func_names
from tvm.ffi import register_global_func as register_func
from tvm.ffi import remove_global_func as remove_global_func

__all__ = ["get_global_func", "list_global_func_names", "register_func", "remove_global_func"]
