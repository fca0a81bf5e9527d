"""Strings and structures that packed functions get lie on the stack, one value each.

    T.call_packed("f", "text", n)    ->    value = tvm_stack_alloca("tvm_ffi_any", 1)
                                           value[0] = (raw_str, "text")
                                           T.call_packed("f", value[0].value, n)

Numbers are passed as they are, and so are the function's own parameters, which the caller has made
values of. `LowerTVMBuiltin` copies a value from its slot with the type index stored there.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField

from .lower_tvm_builtin import packed_type_index
from .nodes_used import nodes_used
from .pass_form import tir_pass

_HANDLE = DataType("handle")
_CALLS = ("tir.tvm_call_packed", "tir.tvm_call_cpacked", "tir.tvm_call_trace_packed")


@tir_pass("tir.LegalizePackedCalls")
def LegalizePackedCalls(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Packed calls get strings and structures from the stack afterwards."""
    if nodes_used(func.body).isdisjoint(_CALLS):
        return func
    return func.with_body(_Legalizer(func.params).visit_stmt(func.body))


class _Legalizer(StmtExprMutator):
    def __init__(self, params: tuple[e.Var, ...]) -> None:
        super().__init__()
        self._params = frozenset(params)
        self._made = 0

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        call = op.value
        if not e.is_call_of(call, *_CALLS):
            return super().visit_evaluate_(op)
        cells: list[e.Var] = []
        steps: list[s.Stmt] = []
        args = [call.args[0]]
        for arg in call.args[1:]:
            if not self._needs_slot(arg):
                args.append(arg)
                continue
            cell = e.Var(f"tvm_value_{self._made}", _HANDLE)
            self._made += 1
            cells.append(cell)
            steps += _put(cell, arg)
            args.append(
                builtin.tvm_struct_get(cell, 0, int(StructField.ANY_UNION_VALUE), _HANDLE)
            )
        if not cells:
            return op
        steps.append(s.Evaluate(e.Call(call.dtype, call.op, args, call.span), op.span))
        body = s.SeqStmt.flatten(*steps)
        for cell in reversed(cells):
            body = s.LetStmt(cell, builtin.tvm_stack_alloca("tvm_ffi_any", 1), body)
        return body

    def _needs_slot(self, arg: PrimExpr) -> bool:
        if isinstance(arg, e.StringImm):
            return True
        return arg.dtype.is_handle and arg not in self._params


def _put(cell: e.Var, arg: PrimExpr) -> list[s.Stmt]:
    values = (
        (StructField.ANY_TYPE_INDEX, ops.const(int(packed_type_index(arg)), "int32")),
        (StructField.ANY_ZERO_PADDING, ops.const(0, "int32")),
        (StructField.ANY_UNION_VALUE, arg),
    )
    return [s.Evaluate(builtin.tvm_struct_set(cell, 0, int(w), value)) for w, value in values]
