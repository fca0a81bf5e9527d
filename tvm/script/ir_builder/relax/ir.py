"""The builder functions of `R`."""

from tvm.script.forward import forward_dir, forward_names

_HOMES = ("tvm.relax.script.words",)
__getattr__ = forward_names(__name__, *_HOMES)
py_print = print  # `R.print` is the operator
__dir__ = forward_dir(*_HOMES)
