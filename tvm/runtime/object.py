"""The class of all objects, by the module that scripts take it from."""

from tvm.ffi import Object

__all__ = ["Object"]
