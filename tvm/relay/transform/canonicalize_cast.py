"""A cast to a wider type for each of its users, so that it can be fused into all of them.

    %0 = cast(%x, "int32"); (exp(%0), log(%0))
    ->
    (exp(cast(%x, "int32")), log(cast(%x, "int32")))
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call
from tvm.relay.traverse import rebuild, transform
from tvm.relay.ty import TensorType
from tvm.support.dtype import DataType

from .function_pass import expr_pass


@expr_pass("CanonicalizeCast", opt_level=3)
def CanonicalizeCast(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function in which a widening cast has one user."""
    used: set[int] = set()

    def own(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (_widens(old) and isinstance(new, Call)):
            return new
        if id(old) not in used:
            used.add(id(old))
            return new
        return Call(new.op, new.args, new.attrs, new.type_args, new.span)

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(old, Call) and isinstance(new, Call)):
            return new
        args = [own(before, after) for before, after in zip(old.args, new.args)]
        return rebuild(new, [new.op, *args])

    return transform(func, rule)


def _widens(expr: RelaxExpr) -> bool:
    if not (isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == "cast"):
        return False
    source: Any = expr.args[0].checked_type
    wanted: Any = expr.attrs
    return isinstance(source, TensorType) and (
        DataType(str(source.dtype)).bits < DataType(str(wanted.dtype)).bits
    )
