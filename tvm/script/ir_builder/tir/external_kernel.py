"""Kernels of other languages."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.tir.script.external_kernel",)
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
