"""Which calls an outside compiler takes, and which stay."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relay.expr import Call
from tvm.relay.expr_functor import ExprVisitor
from tvm.relay.function import Function
from tvm.support.arguments import explained


class AnalyzeOperationsDistribution(ExprVisitor):
    """Visits the functions of a module; `unique_op_ids` tells of each span what takes it."""

    def __init__(self) -> None:
        super().__init__()
        self.unique_op_ids: dict[str, list[str]] = {}
        self.func_name = ""
        self.func_id = 1
        self.compiler_name = ""

    def extract(self, call: Call) -> None:
        """Visit what is below a call."""
        self.visit(call)

    def visit_call(self, call: Call) -> Any:
        if isinstance(call.op, Op) and call.span is not None:
            spans = getattr(call.span, "spans", [call.span])
            for span in spans:
                name = f"{span.source_name.name}, id={span.line}"
                self.unique_op_ids[name] = [self.compiler_name, call.op.name]
        return super().visit_call(call)


@explained
def analyze_operations_distribution(mod: IRModule) -> dict[str, list[str]]:
    """Compiler (or "generic") and operator (or composite) by the location in the source."""
    found: dict[str, list[str]] = {}
    for func in mod.functions.values():
        if not isinstance(func, Function):
            continue
        visitor = AnalyzeOperationsDistribution()
        visitor.compiler_name = str(func.attrs.get("Compiler", "generic"))
        visitor.visit(func)
        found.update(visitor.unique_op_ids)
    return found
