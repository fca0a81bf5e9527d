"""The functions registered below `script.ir_builder.`, by their names."""

from tvm.ffi.api import functions_below

__getattr__ = functions_below(__name__, "script.ir_builder")
