"""Operators are replaced by what the target has for them.

    T.q_multiply_shift(x, y, q, s)    ->    widening multiply, add, shift
    x // 3, where x >= 0              ->    T.truncdiv(x, 3)
    x // 3                            ->    as in `lower_floor_division`; not for our own backends

An operator's rule is its attribute `<target kind>.FLowerIntrinsic`, else `default.FLowerIntrinsic`
(see `tvm.ir.register_intrin_lowering`); a rule returns None where it does not apply. The function's
target is the current one meanwhile.
"""

from __future__ import annotations

from contextlib import nullcontext

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.op import OPS, Op
from tvm.ir.transform import PassContext
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.functor import rewrite
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator
from .lower_floor_division import lower_floor_division, power_of_two
from .nodes_used import nodes_used
from .pass_form import tir_pass


@tir_pass("tir.LowerIntrin")
def LowerIntrin(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """What is called afterwards, every compiler knows."""
    return _lowered(func, native_division=False)


@tir_pass("tir.LowerIntrin")
def LowerForBackend(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """What is called afterwards, the backend knows, which can also divide by itself."""
    return _lowered(func, native_division=True)


def _lowered(func: PrimFunc, native_division: bool) -> PrimFunc:
    target = func.attrs.get("target")
    keys = ["default"]
    if isinstance(target, Target):
        keys = [target.kind.name, *target.keys, "default"]
    rules = [f"{key}.FLowerIntrinsic" for key in keys]
    if not any([_concerns(word, rules) for word in nodes_used(func.body)]):
        return func
    with target if isinstance(target, Target) else nullcontext():
        return rewrite(_IntrinLowerer(func, rules, native_division), func)


def _concerns(word: str, rules: list[str]) -> bool:
    op = OPS.seen(word)  # an operator that is called has been registered
    if op is None:
        return word in ("FloorDiv", "FloorMod")
    return any([op.has_attr(rule) for rule in rules])


class _IntrinLowerer(AnalyzedMutator):
    def __init__(self, func: PrimFunc, keys: list[str], native_division: bool) -> None:
        super().__init__(func)
        self._keys = keys
        self._native = native_division

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not isinstance(call, e.Call) or not isinstance(call.op, Op):
            return call
        for key in self._keys:
            rule = call.op.get_attr(key)
            if rule is None:
                continue
            found = rule(call)
            if found is not None and found is not call:
                assert isinstance(found, PrimExpr), "rules return expressions"
                return self.visit_expr(found)
        return call

    def visit_eq_(self, op: e.EQ) -> PrimExpr:
        found = self._divisible(op)
        return super().visit_eq_(op) if found is None else found

    def visit_ne_(self, op: e.NE) -> PrimExpr:
        found = self._divisible(op)
        return super().visit_ne_(op) if found is None else found

    def _divisible(self, op: e.EQ | e.NE) -> PrimExpr | None:
        """Both roundings agree on what leaves no remainder."""
        if self._native or not isinstance(op.a, e.FloorMod) or not ops.is_zero(op.b):
            return None
        a, b = self.visit_expr(op.a.a), self.visit_expr(op.a.b)
        return type(op)(e.Mod(a, b, op.a.span), op.b, op.span)

    def visit_floor_div_(self, op: e.FloorDiv) -> PrimExpr:
        return self._division(op, e.Div)

    def visit_floor_mod_(self, op: e.FloorMod) -> PrimExpr:
        return self._division(op, e.Mod)

    def _division(self, op: e.FloorDiv | e.FloorMod, plain: type[e.Div | e.Mod]) -> PrimExpr:
        """Both roundings agree where neither operand is negative."""
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        divisor = ops.literal(b)
        agree = (divisor is not None and divisor > 0) or self._at_least_zero(b)
        agree = (agree and self._at_least_zero(a)) or op.dtype.is_uint
        # a shift or a mask is all that a power of two takes
        if agree and op.dtype.is_integer and power_of_two(b) is None:
            return plain(a, b, op.span)
        if not self._native and op.dtype.is_integer:
            return lower_floor_division(op, a, b, self.analyzer)
        return op if a is op.a and b is op.b else type(op)(a, b, op.span)

    def _at_least_zero(self, expr: PrimExpr) -> bool:
        if isinstance(expr, e.Ramp):
            last = ops.add(expr.base, ops.multiply(expr.stride, ops.subtract(expr.lanes, 1)))
            return self._at_least_zero(expr.base) and self._at_least_zero(last)
        if isinstance(expr, e.Broadcast):
            expr = expr.value
        if not expr.dtype.is_scalar:
            return False
        return self.analyzer.const_int_bound(expr).min_value >= 0
