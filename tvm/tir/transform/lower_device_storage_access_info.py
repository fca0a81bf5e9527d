"""Special memories of a device are no allocations: their buffers are where the device has them.

    F = T.allocate([64], "float32", "local.LB")     ->     F = <address of the memory>

A function `tvm.info.mem.<scope>` describes such a memory by a `target.MemoryInfo`. `tvm_access_ptr`
is the address of an element afterwards, or, where it is asked for as a number, counts in units of
the memory. Memories without a description stay allocations.
"""

from __future__ import annotations

from typing import Final, NoReturn

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ffi.registry import get_global_func
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType
from tvm.support.dtype import DataType
from tvm.target.memory_info import MemoryInfo
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

PREFIX: Final = "tvm.info.mem."


@tir_pass("tir.LowerDeviceStorageAccessInfo")
def LowerDeviceStorageAccessInfo(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No memory that is described is allocated."""
    return func.with_body(_Lowerer().visit_stmt(func.body))


class _Lowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[e.Var, MemoryInfo] = {}

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        info = _info(op.buffer_var)
        if info is None:
            return super().visit_allocate_(op)
        self._known[op.buffer_var] = info
        new = super().visit_allocate_(op)
        assert isinstance(new, s.Allocate), "an allocation stays one"
        if info.head_address is None:
            return new.body
        return s.LetStmt(new.buffer_var, info.head_address, new.body, op.span)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        new = super().visit_decl_buffer_(op)
        known = self._known.get(op.buffer.data)
        return new.body if known is not None and isinstance(new, s.DeclBuffer) else new

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        if not (e.is_call_of(op, "tir.tvm_access_ptr") and isinstance(new, e.Call)):
            return new
        data, offset, element = new.args[1], new.args[2], new.args[0].dtype
        if not isinstance(data, e.Var):
            return new
        info = self._known.get(data)
        if info is None or op.dtype.is_handle:
            if info is not None and info.head_address is None:
                _refuse(f"the address of {data.name}, whose memory has none",
                        "accesses by number, of an integer type", op)  # fmt: skip
            return _address(data, element, offset, op)
        bits = element.bits * element.lanes
        if info.unit_bits % bits:
            _refuse(f"elements of {bits} bits in a memory whose unit has {info.unit_bits}",
                    "elements that divide the unit", op)  # fmt: skip
        unit = ops.const(info.unit_bits // bits, offset.dtype)
        return ops.cast(Analyzer().simplify(ops.div(offset, unit)), op.dtype)


def _refuse(found: str, legal: str, where: PrimExpr) -> NoReturn:
    asked = "LowerDeviceStorageAccessInfo: an access of a special memory"
    raise CheckError(message(asked, found=found, where=str(where), legal=legal))


def _address(data: e.Var, element: DataType, offset: PrimExpr, op: e.Call) -> PrimExpr:
    """The address so many elements behind the begin."""
    index = offset
    if element.lanes != 1:
        index = ops.multiply(offset, element.lanes)
        index = e.Ramp(index, ops.const(1, offset.dtype), element.lanes)
    scalar = element.element_of()
    extent = ops.add(ops.multiply(offset, element.lanes), element.lanes)
    buffer = Buffer(data, scalar, [extent], name=data.name)
    return e.Call("handle", "tir.address_of", [e.BufferLoad(buffer, [index])], op.span)


def _info(var: e.Var) -> MemoryInfo | None:
    kind = var.type_annotation
    scope = kind.storage_scope if isinstance(kind, PointerType) else ""
    describe = get_global_func(f"{PREFIX}{scope}", allow_missing=True) if "." in scope else None
    return None if describe is None else describe()

