"""Which values of a function are kept for its gradient, and which are computed again.

    s = start_checkpoint(x); y = f(s); z = g(y); e = end_checkpoint(z); r = h(e)

x and r are kept. y and z are computed again where a gradient needs them, as `y_cp` and `z_cp`; it
is the gradient of r that needs z first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Binding, Call, DataflowVar, Var, VarBinding
from tvm.relax.transform.rebuild import replace_operands, vars_used

START = "relax.grad.start_checkpoint"
END = "relax.grad.end_checkpoint"


class Unmarked:
    """The bindings of a function without the two marks, and which of its values are kept."""

    def __init__(self, params: Sequence[Var], bindings: Sequence[Binding]) -> None:
        self.bindings: list[Binding] = []
        self.kept = set(params)
        outside: set[RelaxExpr] = set(params)  # what stands between no marks
        self._source = _sources(bindings)
        for binding in bindings:
            value = binding.value
            mark = _mark(value)
            if mark == END:
                outside.add(binding.var)
            if mark == START:
                root = self.stands_for(binding.var)
                assert isinstance(root, Var), "variables stand for variables"
                self.kept.add(root)
            if mark is not None:
                continue
            var = self.stands_for(binding.var)
            assert isinstance(var, Var), "variables stand for variables"
            if all(used in outside for used in vars_used(value)):
                outside.update((binding.var, var))
                self.kept.update((binding.var, var))
            value = replace_operands(value, self._source.get)
            if var is not binding.var or value is not binding.value:
                value.struct_info_ = binding.value.struct_info_
                binding = VarBinding(var, value, binding.span)
            self.bindings.append(binding)

    def stands_for(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression with what was marked in the place of its marks."""
        return replace_operands(expr, self._source.get)


def _sources(bindings: Sequence[Binding]) -> dict[RelaxExpr, RelaxExpr]:
    """What each mark is a mark of; a marked value that leaves the block is one of its outputs."""
    source: dict[RelaxExpr, RelaxExpr] = {}
    leaving: dict[RelaxExpr, RelaxExpr] = {}
    for binding in bindings:
        mark = _mark(binding.value)
        if mark is None:
            continue
        assert isinstance(binding.value, Call), "only calls are marks"
        marked = binding.value.args[0]
        if not isinstance(marked, Var):
            raise CheckError(
                message(
                    f"{mark}: the operand must be a variable", found=f"{marked}",
                    legal="a variable that a binding or a parameter gives",
                )
            )  # fmt: skip
        root = source[binding.var] = source.get(marked, marked)
        if isinstance(root, DataflowVar) and not isinstance(binding.var, DataflowVar):
            leaving[root] = Var(root.name_hint, root.struct_info_, root.span)
    found = dict(leaving)
    for mark_var, root in source.items():
        found[mark_var] = found.get(root, root)
    return found


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
                stack.extend(reversed(lacking))
                continue
            stack.pop()
            value = self.within(self._values[top])
            self._known[top] = self._bb.emit(value, f"{top.name_hint}_cp")
        return self._known[var]

    def within(self, value: RelaxExpr) -> RelaxExpr:
        """The expression with each variable kept or computed again."""
        return replace_operands(value, lambda e: self.of(e) if isinstance(e, Var) else None)
