"""Functions with a symbol take plain C arguments: addresses and numbers, nothing is checked.

    def f(A: T.Buffer((16,), "float32"))     ->     int32 f(float* A)

Sizes that are not constant have to be parameters of their own. The device of the target is told
around the body, and the function is the host's from here on. Functions without a symbol, and those
whose target has no host, which are lowered already, stay as they are.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PrimType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import builtin

from .direct_api import direct_form, direct_params


@declare_module_pass("tir.MakeUnpackedAPI")
def MakeUnpackedAPI(mod: IRModule, ctx: PassContext) -> IRModule:
    """No function that the host calls by name has buffers among its parameters afterwards."""
    functions = dict(mod.functions.items())
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc) and func.attrs.get("calling_conv") is None:
            functions[var] = _unpacked(func, mod)
    return mod.with_functions(functions)


def _unpacked(func: PrimFunc, mod: IRModule) -> PrimFunc:
    symbol = func.attrs.get("global_symbol")
    if not symbol:
        return func
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        raise CheckError(
            message(
                f"MakeUnpackedAPI of {symbol}: MakeUnpackedAPI required the function to be "
                "annotated with tvm::attr::kTarget",
                found="no attribute target",
                legal="run BindTarget first",
            )
        )
    if target.host is None:
        return func
    missing = [var.name for var in direct_params(func)[len(func.params) :]]
    if missing:
        raise CheckError(
            message(
                f"MakeUnpackedAPI of {symbol}",
                found=f"size {missing[0]} is no parameter",
                legal="constant sizes, or sizes that are parameters",
            )
        )
    plain = direct_form(func)
    inner = _Addresses(mod).visit_stmt(plain.body)
    body: s.Stmt = s.SeqStmt.flatten(inner, s.Evaluate(builtin.ret(0)))
    if func.buffer_map:
        name, number = e.StringImm("default"), int(target.get_target_device_type())
        body = s.AttrStmt(name, "device_type", e.IntImm("int32", number), body)
        body = s.AttrStmt(name, "device_id", e.IntImm("int32", 0), body)
    attrs = {**dict(plain.attrs.items()), "target": target.host}
    return PrimFunc(plain.params, body, PrimType("int32"), {}, attrs, func.span)


class _Addresses(StmtExprMutator):
    """Functions of the module that take addresses get them, instead of tensors made on the spot."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self._takers = {
            var
            for var, func in mod.functions.items()
            if isinstance(func, PrimFunc) and func.buffer_map and func.attrs.get("global_symbol")
        }

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not isinstance(call, e.Call) or not isinstance(call.op, GlobalVar):
            return call
        if call.op not in self._takers:
            return call
        args = [_address(arg) for arg in call.args]
        return e.Call(call.dtype, call.op, args, call.span)


def _address(arg: PrimExpr) -> PrimExpr:
    made = e.is_call_of(arg, "tir.tvm_stack_make_array")
    return arg.args[0] if made else arg  # type: ignore[attr-defined]
