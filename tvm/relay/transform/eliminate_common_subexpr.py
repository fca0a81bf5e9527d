"""Compute equal calls once.

    %0 = add(%x, 1f); %1 = add(%x, 1f); add(%0, %1)    ->    %0 = add(%x, 1f); add(%0, %0)
"""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_digest
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, Constant, Let, Tuple, TupleGetItem
from tvm.relay.function import Function
from tvm.relay.traverse import transform

from .function_pass import expr_pass


@expr_pass("EliminateCommonSubexpr", opt_level=3)
def EliminateCommonSubexpr(
    func: RelaxExpr, mod: IRModule, ctx: PassContext,
    fskip: Callable[[RelaxExpr], bool] | None = None,
) -> RelaxExpr:  # fmt: skip
    """The function with one call for several equal ones; `fskip` says which to leave alone."""
    return transform(func, _Merger(fskip).rule)


class _Merger:
    def __init__(self, fskip: Callable[[RelaxExpr], bool] | None) -> None:
        self.fskip = fskip
        self.known: dict[object, RelaxExpr] = {}

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, (Let, Function)):
            return new
        key = self.key(new)
        if key is None or (self.fskip is not None and self.fskip(new)):
            return new
        return self.known.setdefault(key, new)

    def key(self, expr: RelaxExpr) -> object:
        if isinstance(expr, Call) and isinstance(expr.op, Op):
            if expr.op.get_attr("TOpIsStateful"):
                return None
            attrs = "" if expr.attrs is None else structural_digest(expr.attrs)
            return ("call", expr.op.name, attrs, *[self._part(arg) for arg in expr.args])
        if isinstance(expr, TupleGetItem):
            return ("item", id(expr.tuple_value), expr.index)
        return None

    def _part(self, arg: RelaxExpr) -> object:
        if isinstance(arg, Constant):
            return structural_digest(arg.data) if arg.is_scalar() else id(arg)
        if isinstance(arg, Tuple):
            return tuple(self._part(field) for field in arg.fields)
        return id(arg)


