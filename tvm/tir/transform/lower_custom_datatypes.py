"""Operations on users' data types become what was registered for them.

    C[i] = A[i] + B[i]     (custom[posit]16)
    ->  C[i] = T.call_pure_extern("uint16", "Posit16Add", A[i], B[i])     (uint16)

Values are held in unsigned integers of their size. See `tvm.target.datatype`.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.target import datatype
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import rewrite, walk

from .float_legalizer import CarrierChanger
from .pass_form import tir_pass

Rule = Callable[[PrimExpr], PrimExpr]


@tir_pass("tir.LowerCustomDatatypes")
def LowerCustomDatatypes(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No value has a user's type afterwards."""
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        raise CheckError(
            message(
                "tir.LowerCustomDatatypes",
                found="a function without a target",
                legal="functions to which tir.BindTarget has given one",
            )
        )
    # most functions hold no such value, and some are deeper than a rewriter that opens all scopes
    return rewrite(_Lowerer(target.kind.name), func) if _is_concerned(func) else func


def _is_concerned(func: PrimFunc) -> bool:
    """A value, a variable or memory of a user's type stands somewhere in the function."""
    buffers = [b.dtype for b in func.buffer_map.values()]
    if any([dtype.is_custom for dtype in (*buffers, *(p.dtype for p in func.params))]):
        return True
    for node in walk(func.body):
        dtype = getattr(node, "dtype", None)  # of expressions and of allocations
        if isinstance(dtype, DataType) and dtype.is_custom:
            return True
        if isinstance(node, (s.BufferStore, s.DeclBuffer)) and node.buffer.dtype.is_custom:
            return True
        if isinstance(node, s.Block) and any([b.dtype.is_custom for b in node.alloc_buffers]):
            return True
    return False


class _Lowerer(CarrierChanger):
    def __init__(self, target: str) -> None:
        super().__init__(lambda dtype: dtype.is_custom)
        self._target = target

    def _rule(self, op_name: str, dtype: DataType, **names: str) -> Rule:
        source = datatype.get_type_name(dtype.type_code)
        return datatype.find_lower_func(self._target, op_name, source, **names)

    # --- what computes ---

    def visit_float_imm_(self, op: e.FloatImm) -> PrimExpr:
        return self._rule("FloatImm", op.dtype)(op) if op.dtype.is_custom else op

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        source, dest = op.value.dtype, op.dtype
        value = self.visit_expr(op.value)
        if not (source.is_custom or dest.is_custom):
            return op if value is op.value else e.Cast(dest, value, op.span)
        rule = datatype.find_lower_func(
            self._target, "Cast", _type_name(source), dest_type_name=_type_name(dest)
        )
        lowered: PrimExpr = rule(e.Cast(dest, value, op.span))
        return lowered

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        new = op if a is op.a and b is op.b else type(op)(a, b, op.span)
        return self._rule(type(op).__name__, op.dtype)(new) if op.dtype.is_custom else new

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        new = op if a is op.a and b is op.b else type(op)(a, b, op.span)
        custom = op.a.dtype.is_custom
        return self._rule(type(op).__name__, op.a.dtype)(new) if custom else new

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        typed = next((x.dtype for x in (op, *op.args) if _is_custom(x)), None)
        if typed is None or not isinstance(call, e.Call) or not isinstance(op.op, Op):
            return call
        return self._rule("Call", typed, intrinsic_name=op.op.name)(call)


def _is_custom(arg: object) -> bool:
    return isinstance(arg, PrimExpr) and arg.dtype.is_custom


def _type_name(dtype: DataType) -> str:
    """How a type is called in the name of a rule for casts: without bits."""
    if dtype.is_custom:
        return datatype.get_type_name(dtype.type_code)
    return "bfloat" if dtype.is_bfloat16 else str(dtype.element_of()).rstrip("0123456789")
