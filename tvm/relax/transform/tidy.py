"""What inlining and rewriting leave behind, cleared away until nothing changes.

    b = a; c = R.add(b, b); d = R.exp(x)       ->       c = R.add(a, a)

After a rewrite equal values are also made one.
"""

from __future__ import annotations

from tvm.ir.structural import structural_equal
from tvm.relax.analysis.bindings import remove_all_unused
from tvm.relax.bind import TIDIERS
from tvm.relax.expr import DataflowBlock, Function
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


def tidy_rebound(func: Function) -> Function:
    """The same after new values for chosen variables: tuples of them stay as they are written."""
    while True:
        new = eliminate_common_subexpr(remove_all_unused(canonicalize_bindings(func)))
        if new is func:
            return func
        func = new


def tidy_untouched(func: Function) -> Function:
    """Where a rewriter finds nothing: functions with blocks that are no dataflow, all the same."""
    if all(isinstance(block, DataflowBlock) or not block.bindings for block in func.body.blocks):
        return func
    new = tidy_rewritten(func)
    return func if structural_equal(new, func) else new


TIDIERS.register("inlined", tidy_inlined)
TIDIERS.register("rewritten", tidy_rewritten)
TIDIERS.register("rebound", tidy_rebound)
TIDIERS.register("untouched", tidy_untouched)
