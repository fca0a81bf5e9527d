"""What the target has no type for is held in integers, and computed in float32.

    B[i] = A[i] * A[i]     (bfloat16)
    ->  x = reinterpret("float32", uint32(A[i]) << 16)
        B[i] = uint16(round(reinterpret("uint32", x * x)) >> 16)     (A, B: uint16)

Every operation is rounded to its own type, as the interpreter does it. Functions of 16 bits and
less are computed in float32 too where the target's library starts there.
"""

from __future__ import annotations

from typing import Final

from tvm.error import DTypeError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.support.narrow_floats import FORMATS, FloatFormat
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.float_math.narrow import narrow, widen
from tvm.tir.float_math.neighbour import narrow_neighbour
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

from .float_legalizer import CarrierChanger
from .nodes_used import element_of, nodes_used
from .pass_form import tir_pass

_FUNCTIONS: Final = frozenset(
    f"tir.{name}"
    for name in (
        "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "pow", "atan2",
        "hypot", "fmod", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "nearbyint", "fabs",
        "copysign", "fma", "sigmoid", "ldexp", "nextafter",
    )
)  # fmt: skip
_QUESTIONS: Final = frozenset(("tir.isnan", "tir.isinf", "tir.isfinite", "tir.tvm_tuple"))
_PACKED: Final = ("tir.tvm_call_packed_lowered", "tir.tvm_call_trace_packed_lowered")
_NO_INTEGERS: Final = ("tir.atomic_add",)  # it would add the codes


@tir_pass("tir.LegalizeNarrowFloats")
def LegalizeNarrowFloats(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Types are afterwards those that the target has (see `KindTraits.narrow_floats`)."""
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        return func
    lacking = frozenset(name for name in FORMATS if not target.has_float(name))
    functions = not target.kind.traits.narrow_functions
    asked = FORMATS if functions else lacking
    used = nodes_used(func.body).union(element_of(p).element_of() for p in func.params)
    if used.isdisjoint(asked):
        return func
    return _Legalizer(lacking, functions).function(func)


class _Legalizer(CarrierChanger):
    def __init__(self, lacking: frozenset[str], functions: bool) -> None:
        super().__init__(lambda dtype: dtype in lacking)
        self._lacking = lacking
        self._functions = functions  # whether functions are computed in float32

    def _lacks(self, expr: object) -> bool:
        return isinstance(expr, PrimExpr) and expr.dtype.element_of() in self._lacking

    def _wide(self, expr: PrimExpr) -> PrimExpr:
        """A rewritten operand; as float32 if it is of a type that the target lacks."""
        new = self.visit_expr(expr)
        return widen(new, _format(expr.dtype)) if self._lacks(expr) else new

    def _back(self, value: PrimExpr, op: PrimExpr) -> PrimExpr:
        """A wide value as the code of the type of `op`; of these, float16 alone keeps digits that
        float32 lacks."""
        once = op.dtype.is_float and value.dtype.bits == 64 and value.dtype.is_float
        code = narrow(value if once else _single(value), _format(op.dtype))
        return code if op.span is None else with_fields(code, span=op.span)

    # --- memory ---

    def visit_allocate_const_(self, op: s.AllocateConst) -> s.Stmt:
        stmt = super().visit_allocate_const_(op)
        stored = self._stored(op.dtype)
        if stored is op.dtype or not isinstance(stmt, s.AllocateConst):
            return stmt
        data = op.data
        if data is not None:
            data = HostTensor(data.numpy().view(str(stored.element_of())))
        source = (data, op.irmod_storage_idx)
        return s.AllocateConst(self.visit_var_def(op.buffer_var), stored, stmt.extents, source,
                               stmt.body, stmt.annotations, stmt.span)  # fmt: skip

    # --- values ---

    def visit_float_imm_(self, op: e.FloatImm) -> PrimExpr:
        return narrow(op, _format(op.dtype)) if self._lacks(op) else op

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        if op.value.dtype is op.dtype:
            return self.visit_expr(op.value)
        if not (self._lacks(op) or self._lacks(op.value)):
            return super().visit_cast_(op)
        value = self._wide(op.value)
        if not self._lacks(op):
            return ops.cast(value, op.dtype, op.span)
        return self._back(value, op)

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        if not self._lacks(op):
            return super().visit_binary_(op)
        return self._back(type(op)(self._wide(op.a), self._wide(op.b), op.span), op)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        if not self._lacks(op.a):
            return super().visit_cmp_(op)
        return type(op)(self._wide(op.a), self._wide(op.b), op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        name = e.op_name(op)
        function = name in _FUNCTIONS and op.dtype.is_floating and op.dtype.bits < 32
        if function and (self._functions or self._lacks(op)):
            return self._function(op, name)
        if name in _QUESTIONS and any(self._lacks(arg) for arg in op.args):
            return e.Call(op.dtype, op.op, [self._wide(arg) for arg in op.args], op.span)
        if name in _NO_INTEGERS and any(self._lacks(arg) for arg in op.args):
            raise DTypeError(
                message(
                    f"{name} of {op.args[1].dtype}",
                    found="a type that the target lacks",
                    legal="types that it computes with, such as float32",
                )
            )
        if name == "tir.tvm_struct_set" and self._lacks(op.args[3]):
            args = [self.visit_expr(arg) for arg in op.args[:3]]
            value = ops.cast(self._wide(op.args[3]), "float64")
            return e.Call(op.dtype, op.op, [*args, value], op.span)
        if name == "tir.reinterpret":
            return builtin.reinterpret(
                self._stored(op.dtype), self.visit_expr(op.args[0]), op.span
            )
        call = StmtExprMutator.visit_call_(self, op)
        if not self._lacks(op) or not isinstance(call, e.Call):
            return call
        if name == "tir.tvm_struct_get" or name in _PACKED:  # there numbers are float64
            return self._back(e.Call("float64", call.op, call.args, op.span), op)
        return e.Call(self._stored(op.dtype), call.op, call.args, op.span)

    def _function(self, op: e.Call, name: str) -> PrimExpr:
        """A function of the library, in float32."""
        if name == "tir.nextafter" and op.dtype.bits == 16:
            return self.visit_expr(narrow_neighbour(op.args[0], op.args[1]))
        args = [
            _single(self._wide(arg)) if arg.dtype.is_floating else self.visit_expr(arg)
            for arg in op.args
        ]
        wide = DataType("float32").with_lanes(op.dtype.lanes, op.dtype.is_scalable)
        found = e.Call(wide, op.op, args, op.span)
        return self._back(found, op) if self._lacks(op) else ops.cast(found, op.dtype, op.span)


def _single(value: PrimExpr) -> PrimExpr:
    """The value as float32."""
    return ops.cast(value, DataType("float32").with_lanes(value.dtype.lanes,
                                                          value.dtype.is_scalable))  # fmt: skip


def _format(dtype: DataType) -> FloatFormat:
    return FORMATS[dtype.element_of()]
