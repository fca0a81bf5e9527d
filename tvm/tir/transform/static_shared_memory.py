"""Dynamic shared memory is plain shared memory where no launch says how much of it there is.

    A = allocate([32], "float32", "shared.dyn")    ->    A = allocate([32], "float32", "shared")

CUDA and HIP are told at a launch; OpenCL, Metal and WGSL have shared memory of constant size only
(`KindTraits.shared_at_launch`). Memory whose size is no constant stays, for the backend to refuse.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

from .pass_form import tir_pass


@tir_pass("tir.StaticSharedMemory")
def StaticSharedMemory(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No memory of constant size is of scope `shared.dyn`, on kinds that have no such memory."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or target.kind.traits.shared_at_launch:
        return func
    return func.with_body(_Static().visit_stmt(func.body))


class _Static(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._static: dict[e.Var, e.Var] = {}
        self._moved: dict[Buffer, Buffer] = {}

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        var, kind = op.buffer_var, op.buffer_var.type_annotation
        constant = all(isinstance(extent, e.IntImm) for extent in op.extents)
        if isinstance(kind, PointerType) and kind.storage_scope == "shared.dyn" and constant:
            static = PointerType(kind.element_type, "shared")
            self._static[var] = e.Var(var.name, static, var.span)
        return super().visit_allocate_(op)

    def visit_var_def(self, var: e.Var) -> e.Var:
        return self._static.get(var, var)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._static.get(op, op)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        if buffer.data not in self._static:
            return super().visit_buffer_use(buffer)
        if buffer not in self._moved:
            self._moved[buffer] = buffer.with_changes(data=self._static[buffer.data])
        return self._moved[buffer]
