"""What runs on a device is marked with the device's target.

    with T.attr(threadIdx_x, "thread_extent", 128):     ->     with T.attr(cuda, "target", 0):
        body                                                       with T.attr(threadIdx_x, ...):
                                                                       body

Only functions whose target has a host contain both kinds of code.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.target.target import Target
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

_DEVICE_KEYS = ("thread_extent", "pipeline_exec_scope", "device_scope")


@tir_pass("tir.AnnotateDeviceRegions")
def AnnotateDeviceRegions(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Each outermost launch stands under the attribute `target`."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or target.host is None:
        return func
    return func.with_body(_Annotator(target.without_host()).visit_stmt(func.body))



class _Annotator(StmtExprMutator):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "target":
            return op
        if op.attr_key in _DEVICE_KEYS:
            return s.AttrStmt(self._target, "target", ops.const(0, "int32"), op, op.span)
        return super().visit_attr_stmt_(op)
