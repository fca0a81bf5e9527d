"""The decorators and proxies of `R`."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.relax.script.proxies", "tvm.relax.script.entry")
__getattr__ = forward_names(__name__, *_HOMES)
__dir__ = forward_dir(*_HOMES)
