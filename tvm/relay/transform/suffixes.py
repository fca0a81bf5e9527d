"""Spans that name one call each: `layer` of the second call with this span is `layer_PART_1`.

What a frontend makes of one operator of a model has one span; with suffixes its calls are told
apart, and found again after passes that keep spans.
"""

from __future__ import annotations

from collections import Counter

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.traverse import transform

SUFFIX_STRING = "_PART_"


def tag_suffixes(mod: IRModule) -> IRModule:
    """The module whose calls have numbers, by the names of their spans, operands first."""
    seen: Counter[str] = Counter()

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        span = new.span
        if not isinstance(new, Call) or span is None or isinstance(span, SequentialSpan):
            return new
        name = str(span.source_name.name)
        numbered = SourceName(f"{name}{SUFFIX_STRING}{seen[name]}")
        seen[name] += 1
        lines, columns = (span.line, span.end_line), (span.column, span.end_column)
        return with_fields(new, span=Span(numbered, *lines, *columns))

    made = mod.clone()
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            made[var] = transform(func, rule)
    return made
