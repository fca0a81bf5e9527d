"""The functions registered below `te.`, by their names."""

from tvm.ffi.api import functions_below

__getattr__ = functions_below(__name__, "te")
