"""Passes over quantized programs."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.transform.rewrites import Legalize as _Legalize
from tvm.relay.traverse import post_order


def CanonicalizeOps() -> Any:
    """Quantized operators as integer arithmetic of plain Relay."""
    return _Legalize("FTVMQnnCanonicalize")


def Legalize() -> Any:
    """Quantized operators as the current target likes them."""
    return _Legalize("FTVMQnnLegalize")


def has_quantized(expr: RelaxExpr) -> bool:
    """True when an operator on quantized tensors is called somewhere."""
    return any(
        isinstance(e, Call) and isinstance(e.op, Op) and e.op.name.startswith("qnn.")
        and e.op.get_attr("FTVMQnnCanonicalize") is not None
        for e in post_order(expr)
    )  # fmt: skip


def without_quantized(mod: IRModule) -> IRModule:
    """The module in plain operators, which have kernels; itself if it has no others."""
    functions = [f for f in mod.functions.values() if isinstance(f, Function)]
    return CanonicalizeOps()(mod) if any(map(has_quantized, functions)) else mod
