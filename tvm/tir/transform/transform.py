"""All of `tvm.tir.transform` under the module name that TVM gives it."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.tir.transform",)
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
