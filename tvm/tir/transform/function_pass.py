"""Passes over the functions of TensorIR, under the module name that TVM gives them.

The module is itself the decorator, as the documents of TVM also call it.
"""

import sys
import types
from typing import Any

from .pass_form import PrimFuncPass, prim_func_pass

__all__ = ["PrimFuncPass", "prim_func_pass"]


class _CallableModule(types.ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return prim_func_pass(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
