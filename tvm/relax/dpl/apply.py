"""Puts new values into the blocks of a function, until the rewriter finds nothing more.

What a new value uses is bound before it, even if it stood later in the block. Subexpressions that
new values share are bound once, and a value that is bound already is not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.structural import structural_equal
from tvm.relax.analysis.purity import contains_impure_call
from tvm.relax.base_expr import Id
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator

from .regroup import regrouped

# More rounds than any chain of rules that gets somewhere needs on one block.
MAX_ROUNDS: Final = 1000


class Rewrites:
    """New values for variables of a block, and functions that they call."""

    __slots__ = ("functions", "values")

    def __init__(
        self,
        values: Mapping[Id, RelaxExpr] | None = None,
        functions: Mapping[GlobalVar, BaseFunc] | None = None,
    ) -> None:
        self.values: Final = dict(values or {})
        self.functions: Final = dict(functions or {})


# What is to change in a block; what other blocks bind is not looked at.
FindRewrites = Callable[[BindingBlock], Rewrites]


class Applier(PyExprMutator):
    """A function with the values that `find` gives, block by block."""

    def __init__(self, find: FindRewrites) -> None:
        super().__init__()
        self.find = find
        self.in_dataflow: dict[Id, bool] = {}  # kinds of the blocks that new values came in
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self.changed = False

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        """Run by run: what stands on both sides of an effect is not looked at together."""
        runs = _pure_runs(block.bindings)
        if len(runs) == 1 and runs[0][1]:
            return self._rewritten(super().visit_binding_block_(block))
        done: list[Binding] = []
        for bindings, _ in runs:
            part = super().visit_binding_block_(BindingBlock(bindings, block.span))
            done.extend(self._rewritten(part).bindings)
        return BindingBlock(done, block.span)

    def visit_seq_expr_(self, op: SeqExpr) -> RelaxExpr:
        new = super().visit_seq_expr_(op)
        return regrouped(new, self.in_dataflow) if isinstance(new, SeqExpr) else new

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        return self._rewritten(super().visit_dataflow_block_(block))

    def visit_tuple_getitem_(self, op: TupleGetItem) -> RelaxExpr:
        """An item of a tuple that a rewrite made known is that item."""
        new = super().visit_tuple_getitem_(op)
        return self._item(new) if self.changed and isinstance(new, TupleGetItem) else new

    def _item(self, item: TupleGetItem) -> RelaxExpr:
        whole: RelaxExpr | None = item.tuple_value
        while isinstance(whole, Var):
            whole = self.lookup_binding(whole)
        return whole.fields[item.index] if isinstance(whole, Tuple) else item

    def reemit_binding(self, binding: VarBinding, value: RelaxExpr) -> None:
        """Within a dataflow block, another name for a variable is not needed."""
        plain = isinstance(value, Var) and isinstance(binding.var, DataflowVar)
        if plain and value is not binding.value:
            self.set_var_remap(binding.var.vid, value)  # type: ignore[arg-type]
        else:
            super().reemit_binding(binding, value)

    def _rewritten(self, block: BindingBlock) -> BindingBlock:
        for _ in range(MAX_ROUNDS):
            found = self.find(block)
            old = {b.var.vid: b.value for b in block.bindings}
            values = {
                vid: value
                for vid, value in found.values.items()
                if vid in old and value is not old[vid] and not structural_equal(value, old[vid])
            }
            if not values:
                return block
            self.changed = True
            self.functions.update(found.functions)
            block = _Round(self, block, values).run()
        raise CheckError(
            f"the rewrite did not come to an end in {MAX_ROUNDS} rounds: each result matches its "
            "pattern again; legal: a rule whose result it does not match, or that returns the "
            "expression as it is"
        )


def _pure_runs(bindings: Sequence[Binding]) -> list[tuple[list[Binding], bool]]:
    """The bindings in order: pure ones together, each impure one and each branch alone."""
    runs: list[tuple[list[Binding], bool]] = []
    for binding in bindings:
        value = binding.value
        pure = isinstance(value, Function) or not (
            isinstance(value, If) or contains_impure_call(value)
        )
        if pure and runs and runs[-1][1]:
            runs[-1][0].append(binding)
        else:
            runs.append(([binding], pure))
    return runs or [([], True)]


class _Round:
    """One block emitted anew, with some values replaced."""

    def __init__(
        self, edit: Applier, block: BindingBlock, values: Mapping[Id, RelaxExpr]
    ) -> None:
        self.edit = edit
        self.block = block
        self.values = values
        self.by_var = {b.var.vid: b for b in block.bindings}
        self.by_value = {
            id(b.value): b
            for b in block.bindings
            if b.var.vid not in values and isinstance(b.value, (Call, Tuple, TupleGetItem))
        }
        self.done: set[Id] = set()
        self.made: dict[int, RelaxExpr] = {}  # operands by the expression they stand for

    def run(self) -> BindingBlock:
        return self.edit.builder_.rebuilt(self.block, self._fill)

    def _fill(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            self._emit_with_needs(binding)

    def _emit_with_needs(self, root: Binding) -> None:
        """Emit a binding after those that it uses, unless they stand there already."""
        stack: list[tuple[Binding, bool]] = [(root, False)]
        open_: set[Id] = set()
        while stack:
            binding, entered = stack.pop()
            vid = binding.var.vid
            if vid in self.done:
                continue
            if entered:
                self._emit(binding)
                self.done.add(vid)
                open_.discard(vid)
                continue
            if vid in open_:
                raise CheckError(
                    message(
                        "rewrite: a new value uses what is computed from it",
                        found=f"{self.values.get(vid, binding.value)} for {binding.var.name_hint}",
                        legal="a value made of what the pattern matched before its result",
                    )
                )
            open_.add(vid)
            stack.append((binding, True))
            stack.extend((need, False) for need in reversed(self._needs(binding)))

    def _needs(self, binding: Binding) -> list[Binding]:
        value = self.values.get(binding.var.vid)
        if value is None:
            value = binding.value
        found: dict[Id, Binding] = {}
        seen: set[int] = set()
        stack: list[RelaxExpr] = [value]
        while stack:
            expr = stack.pop()
            if id(expr) in seen:
                continue
            seen.add(id(expr))
            bound = self.by_value.get(id(expr)) if expr is not binding.value else None
            if bound is None and isinstance(expr, Var):
                bound = self.by_var.get(expr.vid)
            if bound is not None:
                if bound.var.vid not in self.done:
                    found.setdefault(bound.var.vid, bound)
            else:
                stack.extend(reversed(_parts(expr)))
        return list(found.values())

    def _emit(self, binding: Binding) -> None:
        edit = self.edit
        new = self.values.get(binding.var.vid)
        if new is None:
            edit.visit_binding(binding)
            return
        value = self._lowered(new)
        last = new.blocks[-1] if isinstance(new, SeqExpr) and new.blocks else None
        if isinstance(binding, MatchCast):
            value = edit.builder_.normalize_argument(value)
            edit.builder_.emit_normalized(
                MatchCast(binding.var, value, binding.struct_info, binding.span)
            )
        else:
            edit.reemit_binding(binding, value)  # type: ignore[arg-type]
        var = self.made[id(new)] = edit.visit_var_(binding.var)
        if last is not None and not isinstance(value, Var):
            assert isinstance(var, Var), "a variable stands for its new value"
            edit.in_dataflow[var.vid] = isinstance(last, DataflowBlock)

    def _lowered(self, expr: RelaxExpr, top: bool = True) -> RelaxExpr:
        """The expression as one that may be bound; what nests in it is bound before.

        `top` says that the variable of the value will be that of its last binding.
        """
        while isinstance(expr, SeqExpr):
            bindings = [(b, block) for block in expr.blocks for b in block.bindings]
            last = bindings[-1][0] if top and bindings else None
            if last is not None and last.var is expr.body and not isinstance(last, MatchCast):
                self._emit_inner(bindings[:-1])
                expr = last.value
            else:
                self._emit_inner(bindings)
                expr = expr.body
        return self._operand(expr, top=True)

    def _emit_inner(self, bindings: Sequence[tuple[Binding, BindingBlock]]) -> None:
        builder = self.edit.builder_
        for binding, block in bindings:
            value = self._lowered(binding.value)
            if isinstance(binding, MatchCast):
                info = self.edit.visit_struct_info(binding.struct_info)
                var = builder.match_cast(value, info, binding.var.name_hint)
            elif isinstance(value, Var):
                var = value
            else:
                var = builder.emit(value, binding.var.name_hint)
            if isinstance(binding, MatchCast) or not isinstance(value, Var):
                self.edit.in_dataflow[var.vid] = isinstance(block, DataflowBlock)
            self.edit.set_var_remap(binding.var.vid, var)

    def _operand(self, root: RelaxExpr, top: bool) -> RelaxExpr:
        """`root` with its parts bound, children before parents; bound itself unless `top`."""
        edit, made = self.edit, self.made
        stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
        while stack:
            expr, entered = stack.pop()
            if id(expr) in made:
                continue
            bound = self.by_value.get(id(expr))
            if bound is not None and bound.var.vid in self.done:
                made[id(expr)] = edit.visit_var_(bound.var)
                continue
            parts = _parts(expr) if not isinstance(expr, (SeqExpr, If, Function)) else []
            if parts and not entered:
                stack.append((expr, True))
                stack.extend((part, False) for part in reversed(parts))
                continue
            if isinstance(expr, SeqExpr):
                new = self._lowered(expr, top=False)
            elif parts:
                new = _with_parts(expr, [made[id(part)] for part in parts])
                new = edit.builder_.normalize(new)
                if isinstance(new, TupleGetItem):
                    new = edit._item(new)
            else:
                new = edit.visit_expr(expr)
            if expr is root and top:
                return new
            made[id(expr)] = edit.builder_.normalize_argument(new)
        return made[id(root)]


def _parts(expr: RelaxExpr) -> list[RelaxExpr]:
    """The expressions directly within; all values of a sequence."""
    if isinstance(expr, Call):
        return [expr.op, *expr.args]
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    if isinstance(expr, SeqExpr):
        return [b.value for block in expr.blocks for b in block.bindings] + [expr.body]
    if isinstance(expr, If):
        return [expr.cond, expr.true_branch, expr.false_branch]
    return [expr.body] if isinstance(expr, Function) else []


def _with_parts(expr: RelaxExpr, parts: Sequence[RelaxExpr]) -> RelaxExpr:
    if isinstance(expr, Call):
        if all(a is b for a, b in zip(parts, _parts(expr))):
            return expr
        return Call(parts[0], parts[1:], expr.attrs, expr.sinfo_args, expr.span)
    if isinstance(expr, Tuple):
        return Tuple(parts, expr.span)
    assert isinstance(expr, TupleGetItem), "only these have operands"
    return TupleGetItem(parts[0], expr.index, expr.span)
