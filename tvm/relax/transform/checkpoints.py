"""Which values of a function are kept for its gradient, and which are computed again.

    s = start_checkpoint(x); y = f(s); z = g(y); e = end_checkpoint(z)

x and e are kept. y is computed again where a gradient needs it, as `y_cp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Binding, Call, Var, VarBinding
from tvm.relax.transform.rebuild import replace_operands, vars_used

START = "relax.grad.start_checkpoint"
END = "relax.grad.end_checkpoint"


def without_marks(
    params: Sequence[Var], bindings: Sequence[Binding]
) -> tuple[list[Binding], set[Var]]:
    """The bindings without the two marks, and the variables that are kept."""
    kept = set(params)
    aliases: dict[Var, Var] = {}
    result: list[Binding] = []
    for binding in bindings:
        value = binding.value
        mark = _mark(value)
        if mark is not None:
            assert isinstance(value, Call), "only calls are marks"
            source = value.args[0]
            if not isinstance(source, Var):
                raise TVMError(
                    message(
                        f"{mark}: the operand must be a variable", found=f"{source}",
                        legal="a variable that a binding or a parameter gives",
                    )
                )  # fmt: skip
            aliases[binding.var] = aliases.get(source, source)
            if mark == END:
                kept.update((binding.var, aliases[binding.var]))
            continue
        if all(var in kept for var in vars_used(value)):
            kept.add(binding.var)
        new = replace_operands(value, lambda e: aliases.get(e) if isinstance(e, Var) else None)
        if new is not value:
            binding = VarBinding(binding.var, new, binding.span)
        result.append(binding)
    return result, kept


def _mark(value: RelaxExpr) -> str | None:
    if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in (START, END):
        return value.op.name
    return None


class Recomputation:
    """The values of a function as its backward part sees them: kept, or computed again."""

    def __init__(self, bb: BlockBuilder, bindings: Sequence[Binding], kept: set[Var]) -> None:
        self._bb = bb
        self._values = {binding.var: binding.value for binding in bindings}
        self._known = {var: var for var in kept}

    def of(self, var: Var) -> Var:
        """`var`, or its copy; what the copy needs is computed first."""
        stack = [var]
        while stack:
            top = stack[-1]
            if top in self._known or top not in self._values:
                self._known.setdefault(top, top)
                stack.pop()
                continue
            lacking = [v for v in vars_used(self._values[top]) if v not in self._known]
            if lacking:
                stack.extend(lacking)
                continue
            stack.pop()
            value = self.within(self._values[top])
            self._known[top] = self._bb.emit(value, f"{top.name_hint}_cp")
        return self._known[var]

    def within(self, value: RelaxExpr) -> RelaxExpr:
        """The expression with each variable kept or computed again."""
        return replace_operands(value, lambda e: self.of(e) if isinstance(e, Var) else None)
