"""exp, log, tanh, ... of floats of 32 bits and less are written out as polynomials.

    B[ramp] = T.exp(A[ramp])    ->    let n = ..., r = ... in polynomial(r) * 2**n

What is left (float64, inverse and hyperbolic functions) is called from the C library, lane by lane.
Narrow floats are computed in float32. In code for the target `c` nothing is replaced.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir.float_math import EXPANSIONS
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

FLOAT32 = DataType("float32")


@tir_pass("tir.VectorMath")
def VectorMath(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No function of a float32 that `tir.float_math` knows is called afterwards."""
    target = func.attrs.get("target")
    if isinstance(target, Target) and target.kind.name == "c":
        return func  # people read it, and whoever compiles it has a C library
    if not any(isinstance(node, e.Call) and _expandable(node) for node in walk(func.body)):
        return func
    return func.with_body(_Expander().visit_stmt(func.body))


def _expandable(call: e.Call) -> bool:
    dtype = call.dtype
    narrow = dtype.is_floating and dtype.bits <= 32
    return narrow and isinstance(call.op, Op) and call.op.name in EXPANSIONS


class _Expander(StmtExprMutator):
    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not isinstance(call, e.Call) or not _expandable(call):
            return call
        assert isinstance(call.op, Op), "what can be expanded is an operator"
        expand = EXPANSIONS[call.op.name]
        dtype = call.dtype
        wide = FLOAT32.with_lanes(dtype.lanes, dtype.is_scalable)
        return ops.cast(expand(*[ops.cast(arg, wide) for arg in call.args]), dtype, call.span)
