"""Whether everything in a program says where it came from."""

from __future__ import annotations

from typing import Any

from tvm.ir.op import Op
from tvm.ir.span import Span

from .expr import Constant
from .expr_functor import ExprVisitor


class SpanCheck(ExprVisitor):
    """Visits a program and prints what lacks a span; `missing` holds it."""

    def __init__(self) -> None:
        super().__init__()
        self.span_backtrace_stack: list[Span] = []
        self.missing: list[Any] = []

    def visit(self, expr: Any) -> Any:
        if hasattr(expr, "span") and not isinstance(expr, (Op, Constant)):
            if expr.span is None:
                self.missing.append(expr)
                nearest = self.span_backtrace_stack[-1] if self.span_backtrace_stack else None
                print(f"found null span in {type(expr).__name__}: {expr}\nnearest span: {nearest}")
            else:
                self.span_backtrace_stack.append(expr.span)
                try:
                    return super().visit(expr)
                finally:
                    self.span_backtrace_stack.pop()
        return super().visit(expr)
