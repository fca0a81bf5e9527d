"""The FFI by the name that it had before TVM v0.22, as scripts for Relay write it.

    @tvm._ffi.register_func("my.function")
"""

from tvm.ffi import Object, get_global_func, list_global_func_names
from tvm.ffi import register_global_func as register_func
from tvm.ffi import remove_global_func as remove_global_func
from tvm.support.lazy import lazy_names

from . import base as base
from . import registry as registry
from . import runtime_ctypes as runtime_ctypes

_HOMES = {"register_object": "tvm.ffi:register_object", "_init_api": "tvm.ffi:init_ffi_api"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Object", "get_global_func", "list_global_func_names", "register_func"]
