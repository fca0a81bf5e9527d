"""Kernels of other languages, by Triton."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.tir.script.triton",)
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
