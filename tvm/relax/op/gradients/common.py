"""What gradient rules have in common: shapes, constants, makers of rules of one form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tvm.error import CheckError, TVMError, message
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.span import caller_place
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Var
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.op.base import register_gradient
from tvm.relax.op.gather import collapse_sum_to
from tvm.relax.op.grad.grad import no_grad
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, const_int
from tvm.support.dtype import DataType

Expr: TypeAlias = RelaxExpr
Rule: TypeAlias = Callable[[Var, Call, Var, BlockBuilder], list[Expr]]


def extents(expr: Expr) -> tuple[PrimExpr, ...]:
    """The extents of a tensor; an error while they are not known."""
    info = _filled(expr)
    values = info.values if isinstance(info, TensorStructInfo) else None
    if values is None:
        raise CheckError(
            message(
                "gradient: the shape of an operand must be known",
                found=f"{expr} with struct info {info}",
                legal="a tensor with extents, constant or symbolic; match_cast gives them",
            )
        )
    return values


def numbers(expr: Expr, first: int = 0) -> list[int]:
    """The extents from the dimension `first` on as integers; an error while one is symbolic."""
    found = [const_int(extent) for extent in extents(expr)[first:]]
    if any(n is None for n in found):
        raise CheckError(
            message(
                "gradient: the extents of an operand must be constants",
                found=f"{expr} with struct info {expr.struct_info}",
                legal="integers",
            )
        )
    return [n for n in found if n is not None]


def shape(expr: Expr) -> ShapeExpr:
    """The shape of a tensor as an operand."""
    return ShapeExpr(extents(expr))


def _filled(expr: Expr) -> StructInfo:
    """The struct info, filled for an expression that is not bound yet."""
    return expr.struct_info_ or BlockBuilder().normalize(expr).struct_info


def dtype_of(expr: Expr) -> DataType:
    """The data type of a tensor."""
    info = _filled(expr)
    assert isinstance(info, TensorStructInfo), "gradients are of tensors"
    return info.dtype


def const(value: float, like: Expr) -> Constant:
    """A number of the data type of `like`."""
    return Constant(np.asarray(value, numpy_dtype(dtype_of(like))))


def array_const(value: Any, like: Expr) -> Constant:
    """An array as a constant of the data type of `like`."""
    return Constant(np.ascontiguousarray(value).astype(numpy_dtype(dtype_of(like))))


def fit(ctx: BlockBuilder, grad: Expr, operand: Expr) -> Expr:
    """The gradient summed along the dimensions in which the operand was broadcast.

    What it is made of is bound here, before the gradients that are fitted after it.
    """
    wanted = extents(operand)
    grad = ctx.normalize(grad)
    info = grad.struct_info
    found = info.values if isinstance(info, TensorStructInfo) else None
    same = found is not None and len(found) == len(wanted)
    if same and all(same_extent(a, b) is True for a, b in zip(found or (), wanted)):
        return grad
    return collapse_sum_to(grad, ShapeExpr(wanted))


def no_grads(operands: Sequence[Expr]) -> list[Expr]:
    """No gradient flows to any of the operands."""
    return [no_grad(operand) for operand in operands]


def gradient_of(name: str) -> Callable[[Rule], Rule]:
    """Set the rule of an operator."""

    def register(rule: Rule) -> Rule:
        register_gradient(name, rule)
        return rule

    return register


def elementwise(name: str, formula: Callable[[Expr, Expr, Expr], Expr]) -> Rule:
    """The rule of an operator of one operand: `formula(operand, result, gradient)`."""

    def rule(orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder) -> list[Expr]:
        grad = formula(orig_call.args[0], orig_var, output_grad)
        return [grad, *no_grads(orig_call.args[1:])]

    return _named(name, rule, "Gradient of")


def binary(
    name: str, formula: Callable[[Expr, Expr, Expr, Expr], tuple[Expr | None, Expr | None]]
) -> Rule:
    """The rule of two operands that broadcast: `formula(x1, x2, result, gradient)`."""

    def rule(orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder) -> list[Expr]:
        x1, x2 = orig_call.args
        grads = formula(x1, x2, orig_var, output_grad)
        return [
            fit(ctx, grad, x)
            if grad is not None and isinstance(x.struct_info, TensorStructInfo)
            else no_grad(x)
            for grad, x in zip(grads, (x1, x2))
        ]

    return _named(name, rule, "Gradients of")


def without_gradient(name: str) -> Rule:
    """The rule of an operator through which no gradient flows."""

    def rule(orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder) -> list[Expr]:
        return no_grads(orig_call.args)

    return _named(name, rule, "No gradient flows through")


def _named(name: str, rule: Rule, words: str) -> Rule:
    rule.__name__ = rule.__qualname__ = f"{name.rpartition('.')[2]}_grad"
    rule.__doc__ = f"{words} `{name}`."
    register_gradient(f"relax.{name}", rule)
    return rule


def refuse(call: Call, found: str, legal: str) -> TVMError:
    """The error for options of a call whose gradient is not defined; the caller raises it."""
    where = caller_place() if call.span is None else str(call.span)
    name = getattr(call.op, "name", str(call.op))
    return TVMError(message(f"gradient of {name}", found=found, where=where, legal=legal))
