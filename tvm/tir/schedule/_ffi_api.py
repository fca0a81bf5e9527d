"""The functions registered below `tir.schedule.`, by their names."""

from tvm.ffi.api import functions_below

__getattr__ = functions_below(__name__, "tir.schedule")
