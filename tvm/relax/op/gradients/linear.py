"""Gradients of products of matrices."""

from __future__ import annotations

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Tuple, Var
from tvm.relax.op.binary import multiply
from tvm.relax.op.declare import options_of
from tvm.relax.op.linear_algebra import einsum, matmul
from tvm.relax.op.manipulate import expand_dims, permute_dims, squeeze, tuple_items

from .common import Expr, extents, fit, gradient_of, refuse


def transposed(x: Expr) -> Expr:
    """The last two dimensions exchanged."""
    ndim = len(extents(x))
    return permute_dims(x, [*range(ndim - 2), ndim - 1, ndim - 2])


@gradient_of("relax.matmul")
def matmul_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of a product: g times b transposed, and a transposed times g."""
    a, b = orig_call.args
    g: Expr = output_grad
    rows, columns = len(extents(a)) > 1, len(extents(b)) > 1
    if rows and columns:
        return [fit(ctx, matmul(g, transposed(b)), a), fit(ctx, matmul(transposed(a), g), b)]
    if columns:
        g = expand_dims(g, -2)
        grad_a = matmul(g, transposed(b))
        return [fit(ctx, grad_a, a), fit(ctx, matmul(expand_dims(a, 1), g), b)]
    if rows:
        g = expand_dims(g, -1)
        grad_b = matmul(transposed(a), g)
        return [fit(ctx, matmul(g, expand_dims(b, 0)), a), fit(ctx, squeeze(grad_b, -1), b)]
    return [multiply(g, b), multiply(g, a)]


@gradient_of("relax.outer")
def outer_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of an outer product."""
    x1, x2 = orig_call.args
    return [matmul(output_grad, x2), matmul(permute_dims(output_grad), x1)]


@gradient_of("relax.einsum")
def einsum_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of an Einstein sum: the sums with the gradient in the operand's place."""
    operands = tuple_items(ctx, orig_call.args[0])
    text = options_of(orig_call)["subscripts"].replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not arrow:
        letters = left.replace(",", "")
        right = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    grads: list[Expr] = []
    for i, term in enumerate(terms):
        others = [t for j, t in enumerate(terms) if j != i]
        seen = set(right).union(*others)
        if "." in text or len(set(term)) != len(term) or not set(term) <= seen:
            raise refuse(
                orig_call, f"subscripts {text!r}",
                "letters that stand once in an operand, and in another operand or the result; "
                "no '...'",
            )  # fmt: skip
        rest = [operand for j, operand in enumerate(operands) if j != i]
        grad = einsum((output_grad, *rest), f"{','.join([right, *others])}->{term}")
        grads.append(fit(ctx, grad, operands[i]))
    return [Tuple(grads)]
