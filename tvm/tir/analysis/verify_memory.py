"""Whether memory of a device is touched only by threads of the device."""

from __future__ import annotations

from tvm.error import CheckError
from tvm.support.arguments import explained
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor


@explained
def verify_memory(func: PrimFunc) -> bool:
    """True unless host code reads or writes an argument that lives on a GPU.

    The function's `target` attribute says where its arguments live.
    """
    return not memory_errors(func)


def memory_errors(func: PrimFunc) -> list[str]:
    """A sentence for each access that `verify_memory` objects to."""
    target = func.attrs.get("target")
    if target is None:
        raise CheckError("VerifyMemory: Require the target attribute")
    if not (isinstance(target, Target) and target.kind.is_gpu):
        return []  # the host reaches its memory
    convention = func.attrs.get("calling_conv")
    if isinstance(convention, (int, e.IntImm)) and int(convention) != 0:
        return []  # launched as a kernel: everything runs on the device
    verifier = _Verifier(func)
    verifier.visit_stmt(func.body)
    return verifier.errors


class _Verifier(StmtExprVisitor):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.errors: list[str] = []
        self._on_device = False
        self._arguments: set[e.Var] = set(func.params)
        self._arguments.update([buffer.data for buffer in func.buffer_map.values()])

    def _check(self, buffer: Buffer, what: str) -> None:
        if not self._on_device and buffer.data in self._arguments:
            self.errors.append(
                f"Variable `{buffer.data.name}` is directly accessed by host memory (it is not "
                f"contained in a thread environment or in the function arguments): {what}"
            )

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        if isinstance(op.value, e.Call) and op.var.dtype.is_handle:
            self._arguments.add(op.var)  # the address of an argument, unpacked from the call
        self.visit_stmt_default_(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        outer = self._on_device
        if op.attr_key in ("thread_extent", "pipeline_exec_scope", "device_scope"):
            self._on_device = True
        self.visit_stmt_default_(op)
        self._on_device = outer

    def visit_for_(self, op: s.For) -> None:
        outer = self._on_device
        self._on_device = outer or op.kind is s.ForKind.THREAD_BINDING
        self.visit_stmt_default_(op)
        self._on_device = outer

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self._check(op.buffer, "a load")
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self._check(op.buffer, "a store")
        super().visit_buffer_store_(op)
