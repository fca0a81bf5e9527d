"""Reading distributed tensors: `R.DTensor` and `R.dist`."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.relax.script.dist",)
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
