"""Passes made of functions, under the module name that TVM gives them."""

from .pass_form import PrimFuncPass as PrimFuncPass
from .pass_form import prim_func_pass as prim_func_pass
