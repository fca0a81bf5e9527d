"""Calls of packed functions give no value: what they return is read from the stack.

    tvm_call_packed_lowered("f", stack, 0, 2) + 1     ->    let done = tvm_call_packed_lowered(...)
                                                            stack[2].value + 1

`tvm_call_packed_lowered` finds its function by name, in the registry, and calls it with the slots
of the stack from 0 on; `tvm_call_cpacked_lowered` calls a symbol: functions of this module. Both
are void afterwards. A traced call gives its last argument where the function returns None.
"""

from __future__ import annotations

from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.function import CallingConv
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.runtime.imports import FFI_PREFIX
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField, TypeIndex

from .nodes_used import nodes_used
from .pass_form import tir_pass

BY_NAME: Final = "tir.tvm_call_packed_lowered"
BY_SYMBOL: Final = "tir.tvm_call_cpacked_lowered"
_TRACED: Final = "tir.tvm_call_trace_packed_lowered"
_CALLS: Final = (BY_NAME, BY_SYMBOL, _TRACED)
_VOID: Final = DataType("void")


@tir_pass("tir.LowerPackedCalls")
def LowerPackedCalls(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Packed calls are void, with a name and numbers of slots that are literals."""
    if nodes_used(func.body).isdisjoint(_CALLS):
        return func
    return func.with_body(_Lowerer(func, mod).visit_stmt(func.body))


class _Lowerer(StmtExprMutator):
    def __init__(self, func: PrimFunc, mod: IRModule) -> None:
        super().__init__()
        self._where = str(func.attrs.get("global_symbol", "of no name"))
        self._own = set()  # names of the module's packed functions
        for var, one in mod.functions_items():
            if one.attrs.get("calling_conv") == int(CallingConv.C_PACKED_FUNC):
                symbol = str(one.attrs.get("global_symbol", var.name_hint))
                self._own |= {var.name_hint, FFI_PREFIX + symbol.removeprefix(FFI_PREFIX)}

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        if not e.is_call_of(op.value, *_CALLS):
            return super().visit_evaluate_(op)
        call = self._call(op.value)
        return op if call is op.value else s.Evaluate(call, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if not e.is_call_of(op, *_CALLS):
            return super().visit_call_(op)
        call = self._call(op)
        if op.dtype.is_void:
            return call
        _, stack, _, end = call.args
        slot: PrimExpr = end
        if e.is_call_of(op, _TRACED):
            kind = builtin.tvm_struct_get(stack, end, int(StructField.ANY_TYPE_INDEX), "int32")
            none = ops.equal(kind, ops.const(int(TypeIndex.NONE), "int32"))
            slot = e.Select(none, ops.subtract(end, ops.const(1, end.dtype)), end)
        value = builtin.tvm_struct_get(stack, slot, int(StructField.ANY_UNION_VALUE), op.dtype)
        return e.Let(e.Var("done", _VOID), call, value, op.span)

    def _call(self, op: e.Call) -> e.Call:
        """The call without its value."""
        name, stack, begin, end = op.args[:4]
        if not isinstance(name, e.StringImm):
            raise self._refused(f"{name} of type {name.dtype} as its name",
                                "a string as the first argument")  # fmt: skip
        if not (isinstance(begin, e.IntImm) and isinstance(end, e.IntImm)):
            raise self._refused(f"its arguments in the slots from {begin} to {end}", "literals")
        by_symbol = e.is_call_of(op, BY_SYMBOL) or name.value in self._own
        args = (name, self.visit_expr(stack), begin, end)
        if op.dtype.is_void and args[1] is stack and by_symbol == e.is_call_of(op, BY_SYMBOL):
            return op
        return e.Call(_VOID, Op.get(BY_SYMBOL if by_symbol else BY_NAME), args, op.span)

    def _refused(self, found: str, legal: str) -> CheckError:
        asked, where = "call of a packed function", f"function {self._where}"
        return CheckError(message(asked, found=found, where=where, legal=legal))
