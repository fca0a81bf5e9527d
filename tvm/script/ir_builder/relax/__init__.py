"""Building Relax: the words of `R`."""

from tvm.script.forward import forward_dir, forward_names

from . import distributed as distributed

_HOMES = ("tvm.relax.script.words", "tvm.relax.script.frames")
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
