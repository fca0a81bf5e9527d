"""The functions registered below `script.printer.`, by their names."""

from tvm.ffi.api import functions_below

__getattr__ = functions_below(__name__, "script.printer")
