"""Constants of Python numbers, by the module that scripts take them from."""

from tvm.support.lazy import lazy_names

_HOMES = {
    "ObjectConvertible": "tvm.ffi:ObjectConvertible",
    "ObjectGeneric": "tvm.ffi:ObjectConvertible",  # as it was called before v0.22
    "const": "tvm.tir.op.arith:const",
}

__getattr__ = lazy_names(__name__, _HOMES)
