"""The functions registered below `relax.op.builtin.`, by their names."""

from tvm.ffi.api import functions_below

__getattr__ = functions_below(__name__, "relax.op.builtin")
