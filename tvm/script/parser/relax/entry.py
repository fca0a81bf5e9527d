"""The decorators and proxies of `R`."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.relax.script.entry", "tvm.relax.script.proxies")
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
