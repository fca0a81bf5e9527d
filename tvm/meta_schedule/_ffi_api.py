"""The functions registered below `meta_schedule.`, by their names."""

from tvm.ffi.api import functions_below

__getattr__ = functions_below(__name__, "meta_schedule")
