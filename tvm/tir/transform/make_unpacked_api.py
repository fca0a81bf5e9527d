"""Functions with a symbol take plain C arguments: addresses and numbers, nothing is checked.

    def f(A: T.Buffer((16,), "float32"))     ->     int32 f(float* A)

Sizes that are not constant have to be parameters of their own.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.function import CallingConv
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PrimType
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.op import builtin

from .direct_api import direct_calls, direct_form, direct_params


@declare_module_pass("tir.MakeUnpackedAPI")
def MakeUnpackedAPI(mod: IRModule, ctx: PassContext) -> IRModule:
    """No host function has buffers among its parameters afterwards."""
    functions = dict(mod.functions.items())
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc) or func.attrs.get("calling_conv") is not None:
            continue
        func = direct_calls(func, mod)
        functions[var] = _unpacked(func) if func.attrs.get("global_symbol") else direct_form(func)
    return mod.with_functions(functions)


def _unpacked(func: PrimFunc) -> PrimFunc:
    missing = [var.name for var in direct_params(func)[len(func.params) :]]
    if missing:
        raise CheckError(
            message(
                f"MakeUnpackedAPI of {func.attrs['global_symbol']}",
                found=f"size {missing[0]} is no parameter",
                legal="constant sizes, or sizes that are parameters",
            )
        )
    plain = direct_form(func)
    body = s.SeqStmt.flatten(plain.body, s.Evaluate(builtin.ret(0)))
    attrs = {**dict(plain.attrs.items()), "calling_conv": int(CallingConv.DEFAULT)}
    return PrimFunc(plain.params, body, PrimType("int32"), {}, attrs, func.span)
