"""Constants of Python numbers, by the module that scripts take them from."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(__name__, {"const": "tvm.tir.op.arith:const"})
