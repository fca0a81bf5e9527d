"""Functions inside of functions with their structural hash, by which kernels are told apart.

    fn (%p: Tensor[(4), float32], Primitive=1)    ->    fn (..., Primitive=1, hash="00f3...")
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_hash
from tvm.ir.transform import PassContext
from tvm.relay.function import Function
from tvm.relay.traverse import transform

from .function_pass import expr_pass


@expr_pass("LabelOps", opt_level=0)
def LabelOps(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function whose functions inside have an attribute `hash`: 16 hexadecimal digits."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not isinstance(new, Function) or old is func or "hash" in new.attrs:
            return new
        return new.with_attr("hash", label_of(new))

    return transform(func, rule)


def label_of(func: Function) -> str:
    """The label of a function: the one that it has, or its structural hash."""
    known = func.attrs.get("hash")
    return str(known) if known is not None else f"{structural_hash(func) & (2**64 - 1):016x}"
