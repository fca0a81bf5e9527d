"""Cut out parts of known form as functions with the attribute `Composite`.

    nn.relu(add(%x, %y))
    ->
    (fn (%a, %b, Composite="dnnl.add_relu") { nn.relu(add(%a, %b)) })(%x, %y)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay.dataflow_pattern import partition

from .function_pass import expr_pass
from .infer_type import infer_types_of


@expr_pass("MergeComposite", opt_level=0)
def MergeComposite(
    func: RelaxExpr, mod: IRModule, ctx: PassContext,
    pattern_table: Sequence[tuple[Any, ...]],
) -> RelaxExpr:  # fmt: skip
    """What fits a pattern of the table (name, pattern, and a check if it has one) is cut out."""
    for name, pattern, *check in pattern_table:
        accepts = check[0] if check else lambda expr: True
        typed = infer_types_of(func, mod)
        func = partition(pattern, typed, {"Composite": name}, accepts)
    return func
