"""The door to `T`: `from tvm.script import tir as T`."""

from .forward import forward_dir, forward_names

__getattr__ = forward_names(__name__, "tvm.tir.script.language")
__dir__ = forward_dir("tvm.tir.script.language")
