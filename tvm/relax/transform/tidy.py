"""What inlining and rewriting leave behind, cleared away until nothing changes.

    b = a; c = R.add(b, b); d = R.exp(x)       ->       c = R.add(a, a)

After a rewrite equal values are also made one.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.analysis.bindings import remove_all_unused
from tvm.relax.analysis.variables import post_order_visit
from tvm.relax.bind import TIDIERS
from tvm.relax.expr import Call, DataflowBlock, Function
from tvm.relax.transform.canonicalize_bindings import canonicalize_bindings
from tvm.relax.transform.eliminate_common_subexpr import eliminate_common_subexpr


def tidy_inlined(func: Function) -> Function:
    """Without bindings that only give another name, or that nobody reads."""
    while True:
        new = remove_all_unused(canonicalize_bindings(func, joins_tuples=True))
        if new is func:
            return func
        func = new


def tidy_rewritten(func: Function) -> Function:
    """The same, where values that are computed twice are computed once."""
    while True:
        new = eliminate_common_subexpr(tidy_inlined(func))
        if new is func:
            return func
        func = new


def tidy_untouched(func: Function) -> Function:
    """Where a rewriter finds nothing: functions with blocks that are no dataflow, all the same."""
    plain = any(b.bindings and not isinstance(b, DataflowBlock) for b in func.body.blocks)
    if not plain:
        return func
    new = tidy_rewritten(func)
    if _calls_outside(new) < _calls_outside(func):
        return func  # they may do more than give a result, which nobody reads
    return func if structural_equal(new, func) else new


def _calls_outside(func: Function) -> int:
    """How many calls of packed functions and of closures a function has."""
    count = 0

    def note(expr: RelaxExpr) -> None:
        nonlocal count
        if isinstance(expr, Call):
            is_packed = isinstance(expr.op, Op) and expr.op.name == "relax.call_pure_packed"
            count += is_packed or not isinstance(expr.op, (Op, GlobalVar))

    post_order_visit(func, note)
    return count


TIDIERS.register("inlined", tidy_inlined)
TIDIERS.register("rewritten", tidy_rewritten)
TIDIERS.register("untouched", tidy_untouched)
