"""The door to `T` under its newer name: `from tvm.script import tirx as T`."""

from .forward import forward_dir, forward_names

__getattr__ = forward_names(__name__, "tvm.script.tir")
__dir__ = forward_dir("tvm.script.tir")
