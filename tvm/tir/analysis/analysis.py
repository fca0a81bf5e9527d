"""All of `tvm.tir.analysis` under the module name that TVM gives it."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.tir.analysis",)
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
