"""The door to tvm.tir under its newer name."""

from tvm.script.forward import forward_dir, forward_names

__getattr__ = forward_names(__name__, "tvm.tir")
__dir__ = forward_dir("tvm.tir")
