"""Tightly coupled memory is asked for at run time.

    A = T.allocate([4, 8], "int8", "global.vtcm")    ->    A = T.nd_mem_alloc_with_scope(
                                                               "global.vtcm", 2, stack shape (4, 8))
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import builtin

from .pass_form import tir_pass


@tir_pass("tir.LowerVtcmAlloc")
def LowerVtcmAlloc(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No allocation of a scope `global.vtcm` is left."""
    return func.with_body(_Lowerer().visit_stmt(func.body))


class _Lowerer(StmtExprMutator):
    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        new = super().visit_allocate_(op)
        scope = str(getattr(op.buffer_var.type_annotation, "storage_scope", ""))
        if not scope.startswith("global.vtcm") or not isinstance(new, s.Allocate):
            return new
        shape = builtin.tvm_stack_make_shape(*new.extents)
        args = [e.StringImm(scope), e.IntImm("int64", len(new.extents)), shape]
        memory = e.Call("handle", "tir.nd_mem_alloc_with_scope", args)
        return s.LetStmt(new.buffer_var, memory, new.body, new.span)
