"""The class of functions, by the module that scripts take it from."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(__name__, {"PackedFunc": "tvm.ffi:Function"})
