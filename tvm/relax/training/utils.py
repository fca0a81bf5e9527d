"""Gradients of functions that users write as tensor expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ffi import register_global_func
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Tuple, Var
from tvm.relax.transform.gradient import TE_GRADIENTS

from .append_loss import AppendLoss

__all__ = ["AppendLoss", "register_te_gradient"]


def register_te_gradient(te_grad_name: str, te_grad_func: Callable[..., Any] | None = None) -> Any:
    """Set the gradient that `call_tir_with_grad` names; a decorator without `te_grad_func`.

    `te_grad_func(output_grad, *operands, **te_grad_kwargs)` computes in tensor expressions; it
    gives the gradient of the operand, or a list with one for each operand.
    """

    def register(func: Callable[..., Any]) -> Callable[..., Any]:
        def emit(orig_var: Var, call: Call, output_grad: Var, ctx: BlockBuilder) -> Var:
            operands = call.args[1]
            assert isinstance(operands, Tuple), "the call is in normal form"
            options = dict(call.attrs.te_grad_kwargs)  # type: ignore[union-attr]
            return ctx.emit_te(
                func, output_grad, *operands.fields, **options, primfunc_name_hint=te_grad_name
            )

        TE_GRADIENTS[te_grad_name] = emit
        # scripts look for the name, and take it away, among the global functions
        register_global_func(f"tvm.relax.te_grad._register.{te_grad_name}", emit, override=True)
        return func

    return register if te_grad_func is None else register(te_grad_func)
