"""Questions about the form of an expression that every code generator asks."""

from __future__ import annotations

from collections.abc import Container

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e


def power_of_two(expr: PrimExpr) -> int | None:
    """n of a literal 2**n (also a broadcast one), or None."""
    if isinstance(expr, e.Broadcast):
        expr = expr.value
    if isinstance(expr, e.IntImm) and expr.value > 0 and expr.value & (expr.value - 1) == 0:
        return expr.value.bit_length() - 1
    return None


def terms_of(op: PrimExpr, kind: type[e.BinaryOpExpr | e.And | e.Or]) -> list[PrimExpr]:
    """The terms of a chain of one operator, left to right: of a sum those that are added."""
    terms: list[PrimExpr] = []
    todo: list[PrimExpr] = [op]
    while todo:
        node = todo.pop()
        if isinstance(node, kind):
            todo += [node.b, node.a]
        else:
            terms.append(node)
    return terms


def conjuncts(condition: PrimExpr, marks: Container[str] = ()) -> list[PrimExpr]:
    """The conditions that a condition joins by `and`; calls of `marks` stand for their argument."""
    terms: list[PrimExpr] = []
    for term in terms_of(condition, e.And):
        if marks and isinstance(term, e.Call) and e.op_name(term) in marks:
            terms += conjuncts(term.args[0], marks)
        else:
            terms.append(term)
    return terms
