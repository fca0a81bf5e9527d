"""Passes over the functions of TensorIR, under the module name that TVM gives them."""

from .pass_form import PrimFuncPass, prim_func_pass

__all__ = ["PrimFuncPass", "prim_func_pass"]
