"""exp, log, tanh, ... are written out as polynomials.

    B[ramp] = T.exp(A[ramp])    ->    let n = ..., r = ... in polynomial(r) * 2**n

Narrow floats are computed in float32. Where a target calls the C library nothing is replaced.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir.float_math import EXPANSIONS, Steps
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .nodes_used import nodes_used
from .pass_form import tir_pass

FLOAT32 = DataType("float32")
_OF_ITS_OWN_TYPE = ("tir.nextafter",)  # float32 has other neighbours than float16


@tir_pass("tir.VectorMath")
def VectorMath(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Of what `tir.float_math` knows, only sines of huge numbers are called afterwards."""
    target = func.attrs.get("target")
    if isinstance(target, Target) and target.kind.traits.calls_c_library:
        return func  # people read it, and whoever compiles it has a C library
    if isinstance(target, Target) and _may_reassociate(target):
        return func  # x + m - m, which rounds, would be x
    if nodes_used(func.body).isdisjoint(EXPANSIONS):
        return func
    can_branch = isinstance(target, Target) and target.kind.traits.machine_code
    # numbers are multiplied by powers of two in vectors, in one instruction
    can_scale = isinstance(target, Target) and can_branch and "avx512f" in target.cpu.features
    return func.with_body(_Expander(can_scale, can_branch).visit_stmt(func.body))


def _may_reassociate(target: Target) -> bool:
    return bool(target.attrs.get("fast-math") or target.attrs.get("fast-math-reassoc"))


def _expandable(call: e.Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in EXPANSIONS and call.dtype.is_floating


class _Expander(StmtExprMutator):
    def __init__(self, can_scale: bool, can_branch: bool) -> None:
        super().__init__()
        self._can_scale = can_scale
        self._can_branch = can_branch

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not isinstance(call, e.Call) or not _expandable(call):
            return call
        assert isinstance(call.op, Op), "what can be expanded is an operator"
        name, dtype = call.op.name, call.dtype
        wide = dtype
        if dtype.bits < 32 and not (name in _OF_ITS_OWN_TYPE and dtype.bits == 16):
            wide = FLOAT32.with_lanes(dtype.lanes, dtype.is_scalable)
        steps = Steps(wide, can_scale=self._can_scale, can_branch=self._can_branch)
        found = EXPANSIONS[name](steps, *[ops.cast(arg, wide) for arg in call.args])
        return ops.cast(found, dtype, call.span)
