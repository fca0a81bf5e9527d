"""Rules that say what a target calls for an operator, by the module that scripts take them from."""

from tvm.support.lazy import lazy_names

_HOMES = {
    "call_pure_extern": "tvm.tir:call_pure_extern",
    "register_intrin_lowering": "tvm.ir:register_intrin_lowering",
}

__getattr__ = lazy_names(__name__, _HOMES)
