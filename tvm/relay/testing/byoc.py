"""Marks for an outside compiler, put by hand."""

from __future__ import annotations

from typing import Any, Final

from tvm.relay.expr import Call, Var
from tvm.relay.expr_functor import ExprMutator
from tvm.relay.op.annotation import compiler_begin, compiler_end


class CcompilerAnnotator(ExprMutator):
    """Marks chains that start in an `add` and end in a `multiply` for `ccompiler`.

        multiply(subtract(add(%a, %b), %c), %d)
        ->
        end(multiply(subtract(add(begin(%a), begin(%b)), begin(%c)), begin(%d)))

    The end is marked where a start was found; calls of other operators stay as they are.
    """

    OPEN: Final = 1
    """Inside of a chain's end."""
    STARTED: Final = 2
    """The start of the chain was found."""

    def __init__(self) -> None:
        super().__init__()
        self.in_compiler = 0

    def visit_call(self, call: Call) -> Any:
        """The call with marks."""
        name = getattr(call.op, "name", "")
        if name == "add" and self.in_compiler == self.OPEN:
            made = self._with(call, [_begun(self.visit(arg)) for arg in call.args])
            self.in_compiler = self.STARTED
            return made
        if name not in ("subtract", "multiply"):
            return super().visit_call(call)
        self.in_compiler = self.OPEN
        args = [self.visit(arg) for arg in call.args]
        made = self._with(call, [_begun(arg) if isinstance(arg, Var) else arg for arg in args])
        if name == "multiply":
            made = compiler_end(made, "ccompiler") if self.in_compiler == self.STARTED else made
            self.in_compiler = 0
        return made

    def _with(self, call: Call, args: list[Any]) -> Call:
        return Call(call.op, args, call.attrs, call.type_args, call.span)


def _begun(expr: Any) -> Any:
    return compiler_begin(expr, "ccompiler")
