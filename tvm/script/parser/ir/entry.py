"""The decorators of `I`."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.script.ir_dialect.entry",)
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
