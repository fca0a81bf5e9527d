"""Memory that host code takes from a device, or more than fits on the stack, is a workspace.

    with T.attr("ctx", "device_type", 2), T.attr("ctx", "device_id", 0):
        p = T.allocate([16], "float32")
        body
    ->
    p: T.handle("float32") = T.TVMBackendAllocWorkspace(2, 0, T.uint64(64), 2, 32)
    if T.isnullptr(p): <throw the last error>
    body
    if T.TVMBackendFreeWorkspace(2, 0, p) != 0: <throw the last error>

The attributes say whose memory it is; without them allocations are left to the backend.
"""

from __future__ import annotations

from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops
from tvm.tir.op import isnullptr
from tvm.tir.op.extent import allocated_bytes

CPU: Final = 1  # kDLCPU
STACK_BYTES: Final = 1024  # what is smaller stays on the stack of the host
REGISTER_BYTES: Final = 65536  # the same of scope "local": meant to become registers
ALIGNMENT: Final = 64
_KEYS: Final = ("device_type", "device_id")


def with_workspaces(body: s.Stmt) -> s.Stmt:
    """The body with a workspace for each allocation under `device_type` and `device_id`."""
    return _Lowerer().visit_stmt(body)


class _Lowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, PrimExpr] = {}

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key not in _KEYS:
            return super().visit_attr_stmt_(op)
        outer, self._known = self._known, {**self._known, op.attr_key: op.value}
        body = self.visit_stmt(op.body)
        self._known = outer
        return body

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        new = super().visit_allocate_(op)
        if not self._known or not isinstance(new, s.Allocate):
            return new
        kind = self._known.get("device_type", ops.const(CPU))
        count = _literal_bytes(new)
        if ops.literal(kind) == CPU and count is not None:
            limit = REGISTER_BYTES if _is_local(op) else STACK_BYTES
            if count < limit:
                return new
        missing = [key for key in _KEYS if key not in self._known]
        if missing:
            raise CheckError(message(
                f"LowerTVMBuiltin: a workspace for {op.buffer_var.name}",
                found=f"no attribute {missing[0]!r} around the allocation",
                legal='T.attr(..., "device_type", ...) and T.attr(..., "device_id", ...)',
            ))  # fmt: skip
        return self._workspace(new)

    def _workspace(self, op: s.Allocate) -> s.Stmt:
        device = [ops.cast(self._known[key], "int32") for key in _KEYS]
        unit, wide = _element_bytes(op), "uint64"
        if len(op.extents) == 1 and isinstance(op.extents[0], e.Var):
            size = ops.multiply(ops.const(unit, wide), ops.cast(op.extents[0], wide))
        else:
            size = ops.cast(allocated_bytes(unit, op.extents), wide)
        kind = [ops.const(op.dtype.type_code), ops.const(op.dtype.bits)]
        var = op.buffer_var
        taken = e.Call("handle", "tir.TVMBackendAllocWorkspace", [*device, size, *kind], op.span)
        given = e.Call("int32", "tir.TVMBackendFreeWorkspace", [*device, var], op.span)
        failed = s.Evaluate(e.Call("int32", "tir.tvm_throw_last_error", []), op.span)
        back = s.IfThenElse(ops.not_equal(given, ops.const(0)), failed, None, op.span)
        body = s.SeqStmt.flatten([
            s.IfThenElse(isnullptr(var), failed, None, op.span), _followed(op.body, back),
        ])  # fmt: skip
        aligned = s.AttrStmt(var, "storage_alignment", ops.const(ALIGNMENT), body, op.span)
        return s.LetStmt(var, taken, aligned, op.span)


def _followed(body: s.Stmt, last: s.Stmt) -> s.Stmt:
    """The body, then one more statement, where the buffers that it declares are still known."""
    declared: list[s.DeclBuffer] = []
    while isinstance(body, s.DeclBuffer):
        declared.append(body)
        body = body.body
    body = s.SeqStmt.flatten([body, last])
    for outer in reversed(declared):
        body = s.DeclBuffer(outer.buffer, body, outer.span)
    return body


def _is_local(op: s.Allocate) -> bool:
    return getattr(op.buffer_var.type_annotation, "storage_scope", "global") == "local"


def _element_bytes(op: s.Allocate) -> int:
    return (op.dtype.bits * op.dtype.lanes + 7) // 8


def _literal_bytes(op: s.Allocate) -> int | None:
    total = _element_bytes(op)
    for extent in op.extents:
        if not isinstance(extent, e.IntImm):
            return None
        total *= extent.value
    return total
