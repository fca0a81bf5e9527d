"""Choosing tokens from probabilities, as kernels.

Probabilities are (batch, vocabulary), float32; `top_p`, `top_k` and uniform numbers are columns
(batch, 1). A row of the result is drawn from the row of probabilities that `sample_indices` names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import relax as rx
from tvm import te, tir
from tvm.error import AssumptionError, message
from tvm.relax import op as _op

from .call import tensor_expr_op, tensor_ir_op
from .core import Tensor, wrap_nested, wrap_tensor
from .sampling_kernels import index_from_sorted, least_prob, renorm_prob


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """The tokens at uniform numbers of [0, 1): (n, 1) from (batch, vocabulary)."""
    rows = _rows(uniform_sample, sample_indices, prob.shape[0])
    out = _op.multinomial_from_uniform(prob._expr, uniform_sample._expr, rows, dtype)
    return wrap_tensor(out, name)


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor,
    sorted_index: Tensor,
    top_p: Tensor,
    top_k: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Tensor:
    """Tokens among the likeliest `top_k`, and of these the fewest that together have `top_p`.

    `sorted_prob` falls along each row, `sorted_index` says which token each one is;
    `uniform_sample`, of [0, 1), and the result are (n, 1). The likeliest token can always be
    drawn.
    """
    batch = sorted_prob.shape[0]
    _columns(batch, top_p=top_p, top_k=top_k)
    rows = Tensor(_expr=_bound(_rows(uniform_sample, sample_indices, batch)))
    sums = wrap_nested(_op.cumsum(sorted_prob._expr, axis=1), "cumsum")
    kept = tensor_ir_op(
        renorm_prob(sorted_prob.dtype, top_k.dtype), "get_renorm_prob", [sums, top_p, top_k],
        Tensor.placeholder([batch, 1], sorted_prob.dtype),
    )  # fmt: skip
    result: Tensor = tensor_ir_op(
        index_from_sorted(sorted_prob.dtype, sorted_index.dtype, rows.dtype),
        "get_index_from_sorted",
        [sums, sorted_index, kept, uniform_sample, rows],
        Tensor.placeholder([uniform_sample.shape[0], 1], sorted_index.dtype),
    )
    return result


def renormalize_top_p_top_k_prob(
    prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor
) -> Tensor:
    """Probabilities of the tokens that top-p and top-k leave, to sum 1 again; 0 for all others."""
    batch = prob.shape[0]
    _columns(batch, top_p=top_p, top_k=top_k)
    sums = wrap_nested(_op.cumsum(sorted_prob._expr, axis=1), "cumsum")
    least = tensor_ir_op(
        least_prob(prob.dtype, top_k.dtype), "get_renorm_cutoff",
        [sorted_prob, sums, top_p, top_k], Tensor.placeholder([batch, 1], prob.dtype),
    )  # fmt: skip
    kept: Tensor = tensor_expr_op(_not_less, "filter_with_top_p_top_k", [prob, least])
    total = wrap_tensor(_op.sum(kept._expr, axis=1, keepdims=True), "sum")
    return wrap_tensor(_op.divide(kept._expr, total._expr), "divide")


def _not_less(prob: te.Tensor, least: te.Tensor) -> te.Tensor:
    """Probabilities as they are where they reach the least that is kept, 0 elsewhere."""
    zero = tir.const(0, prob.dtype)
    kept: te.Tensor = te.compute(
        prob.shape,
        lambda i, j: tir.Select(least[i, 0] <= prob[i, j], prob[i, j], zero),
        name="filter_with_top_p_top_k",
    )
    return kept


def _bound(expr: rx.Expr) -> rx.Expr:
    plain = isinstance(expr, rx.Var | rx.Constant)
    return expr if plain else wrap_nested(expr, "sample_indices")._expr


def _rows(uniform_sample: Tensor, sample_indices: Tensor | None, batch: Any) -> rx.Expr:
    """The rows of probabilities: those that are given, or one after the other."""
    if sample_indices is not None:
        return sample_indices._expr
    count = uniform_sample.shape[0]
    if isinstance(count, int) and isinstance(batch, int) and count != batch:
        raise AssumptionError(
            message("sampling without sample_indices", found=f"{count} numbers, {batch} rows",
                    legal="as many numbers as rows of probabilities")
        )  # fmt: skip
    if isinstance(count, int):
        return rx.const(np.arange(count).reshape(count, 1), "int32")
    return _op.reshape(_op.arange(count, dtype="int64"), [count, 1])


def _columns(batch: Any, **columns: Tensor) -> None:
    for name, column in columns.items():
        shape = column.shape
        same = len(shape) == 2 and shape[1] == 1
        known = isinstance(batch, int) and isinstance(shape[0], int)
        if not same or (known and shape[0] != batch):
            raise AssumptionError(
                message(f"sampling: {name}", found=f"shape {shape}", legal=f"({batch}, 1)")
            )
