"""Kernels of few arguments: long concatenations go in steps.

    concatenate((%a, %b, %c, %d))   ->   concatenate(stop((concatenate(stop((%a, %b))), %c, ...)))

where `stop` is `annotation.stop_fusion`, so that the steps stay kernels of their own.
"""

from __future__ import annotations

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, Tuple
from tvm.relay.op.annotation import stop_fusion
from tvm.relay.op.tensor import concatenate
from tvm.relay.traverse import transform
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

from .function_pass import expr_pass


@expr_pass("SplitArgs", opt_level=1)
def SplitArgs(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, max_function_args: int
) -> RelaxExpr:
    """Concatenations take at most `max_function_args` - 1 tensors (0: as many as there are)."""
    if max_function_args == 1:  # the result's
        raise TVMError("SplitArgs: max_function_args=1; legal: 0, or 2 and more")
    limit = max_function_args - 1  # one argument is the result
    join = Op.get("concatenate")

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not max_function_args or not isinstance(new, Call) or new.op is not join:
            return new
        fields = new.args[0]
        assert isinstance(old, Call), "the rewrite keeps calls"
        if not isinstance(fields, Tuple):
            return new
        before = old.args[0].fields  # type: ignore[attr-defined]
        sizes = [_arguments(field) for field in before]
        if sum(sizes) < limit:
            return new
        return _steps(fields.fields, sizes, limit, new.attrs.axis)  # type: ignore[union-attr]

    return transform(func, rule)


def _arguments(field: RelaxExpr) -> int:
    """A tensor, and each extent that is known only at run time."""
    found = getattr(field, "checked_type_", None)
    dims = found.shape if isinstance(found, TensorType) else ()
    return 1 + sum(isinstance(dim, AnyDim) for dim in dims)


def _steps(
    fields: tuple[RelaxExpr, ...], sizes: list[int], limit: int, axis: int
) -> RelaxExpr:
    group: list[RelaxExpr] = []
    used = 0
    for field, size in zip(fields, sizes):
        if used + size > limit:
            group, used = [concatenate(stop_fusion(Tuple(group)), axis)], 1
        group.append(field)
        used += size
    made: RelaxExpr = concatenate(stop_fusion(Tuple(group)), axis)
    return made
