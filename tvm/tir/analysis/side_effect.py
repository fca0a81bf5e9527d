"""What evaluating an expression may do."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.expr import CallEffectKind
from tvm.tir.functor import expr_children
from tvm.tir.op.builtin import effect_of


def side_effect(expr: PrimExpr) -> int:
    """The strongest effect (`CallEffectKind`) in the expression."""
    strongest = int(CallEffectKind.Pure)
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, e.BufferLoad):
            strongest = max(strongest, CallEffectKind.ReadState)
        elif isinstance(node, e.Call):
            effect = effect_of(node)
            if effect == CallEffectKind.EmbedInfo:
                effect = CallEffectKind.Pure
            strongest = max(strongest, min(effect, CallEffectKind.UpdateState))
        if strongest >= CallEffectKind.UpdateState:
            return strongest
        stack.extend(expr_children(node))
    return strongest


def is_pure(expr: PrimExpr) -> bool:
    """The value depends on nothing but the operands, and computing it changes nothing."""
    return side_effect(expr) <= CallEffectKind.Pure
