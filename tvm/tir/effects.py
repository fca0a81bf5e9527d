"""What evaluating an expression reads and changes: the questions that passes ask about effects.

    pure      C's sqrt: the value depends on the operands alone
    stateful  reads memory, or more: two calls with the same operands may differ
    acts      changes memory, leaves the function, or is unknown: it must not be dropped
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.op import Op

from . import expr as e
from .children import walk
from .expr import CallEffectKind


def effect_of(call: e.Call) -> int:
    """What a call may do (`CallEffectKind`); a call of another function may do anything."""
    if isinstance(call.op, Op):
        effect = call.op.get_attr("TCallEffectKind")
        return CallEffectKind.Opaque if effect is None else int(effect)
    return CallEffectKind.Opaque


def is_stateful_call(node: object) -> bool:
    """A call whose value may change from one evaluation to the next, or that changes something."""
    return isinstance(node, e.Call) and effect_of(node) > CallEffectKind.Pure


def is_acting_call(node: object) -> bool:
    """A call that may change something, or end what is running."""
    return isinstance(node, e.Call) and effect_of(node) >= CallEffectKind.UpdateState


def is_read(node: object) -> bool:
    """A load, or a call whose value may depend on what memory holds."""
    return isinstance(node, (e.BufferLoad, e.ProducerLoad)) or is_stateful_call(node)


def has_effect(expr: PrimExpr) -> bool:
    """Evaluating the expression may change anything, or end the function."""
    return any(is_acting_call(node) for node in walk(expr))


def has_stateful_call(expr: PrimExpr) -> bool:
    """A call in the expression is not pure."""
    return any(is_stateful_call(node) for node in walk(expr))


def reads_memory(expr: PrimExpr) -> bool:
    """The value may change with what memory holds."""
    return any(is_read(node) for node in walk(expr))


def side_effect(expr: PrimExpr) -> int:
    """The strongest effect (`CallEffectKind`) in the expression."""
    strongest = int(CallEffectKind.Pure)
    for node in walk(expr):
        if isinstance(node, e.BufferLoad):
            strongest = max(strongest, CallEffectKind.ReadState)
        elif isinstance(node, e.Call):
            effect = effect_of(node)
            if effect == CallEffectKind.EmbedInfo:
                effect = CallEffectKind.Pure
            strongest = max(strongest, min(effect, CallEffectKind.UpdateState))
        if strongest >= CallEffectKind.UpdateState:
            return strongest
    return strongest


def is_pure(expr: PrimExpr) -> bool:
    """The value depends on nothing but the operands, and computing it changes nothing."""
    return side_effect(expr) <= CallEffectKind.Pure
