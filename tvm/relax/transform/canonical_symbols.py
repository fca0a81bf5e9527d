"""Symbols that a cast names anew are replaced by the extents that they stand for.

    y = R.match_cast(x, R.Tensor((q, r)))              x: R.Tensor((p, 8))
    z: R.Tensor((q, r)) = R.add(y, x)         ->       z: R.Tensor((p, 8)) = R.add(y, x)

A symbol that was there before, of a parameter or of a cast of what has no known extents, stays: a
cast to it is a check. What a branch learns holds within it; where the branch then gives a value of
another form than the `if` had, it ends in a cast to that form. Symbols that this cast checks may be
replaced within the branch even where they were there before. A symbol that stands for a choice
between choices stays too: put into each other, those that broadcasting makes (`k = if_then_else(
a == 1, b, a)`) would grow threefold with each step.
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.structural import structural_equal
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import BindingBlock, Function, If, MatchCast, SeqExpr, Var
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.normalize import merge_blocks
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.rebuild import all_bindings
from tvm.tir import expr as tir
from tvm.tir.functor import StmtExprMutator, substitute, walk

MAX_CHOICES = 3  # in an extent that is written out wherever it is used


def canonical_symbols(func: Function) -> Function:
    """The function in terms of the symbols that were there first."""
    if not any(isinstance(binding, MatchCast) for binding in all_bindings(func)):
        return func
    new = _Symbols().visit_expr(func)
    assert isinstance(new, Function), "functions stay functions"
    return new


class _Symbols(PyExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tir.Var, PrimExpr] = {}
        self._fixed: set[tir.Var] = set()  # what stands for itself
        self._free: set[tir.Var] = set()  # those of them that a branch may replace
        self._told_by: dict[tir.Var, Var] = {}
        self._long: list[tuple[tir.Var, PrimExpr]] = []  # those that stand for what is too long
        self._analyzer = Analyzer()

    def visit_prim_expr(self, expr: PrimExpr) -> PrimExpr:
        """The extent with what is known put in."""
        if not self._known or isinstance(expr, tir.IntImm):
            return expr
        new = substitute(expr, self._known)
        return expr if new is expr else _Settled().visit_expr(simplify(new, self._analyzer))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        value = self.builder_.normalize_argument(self.visit_expr(binding.value))
        told: dict[tir.Var, PrimExpr] = {}
        bind_symbols(binding.struct_info, value.struct_info, told)
        for symbol, extent in told.items():
            self._learn(symbol, extent, binding.var)
        named = tir_vars_in_struct_info(binding.struct_info)
        self._fixed.update(symbol for symbol in named if symbol not in self._known)
        super().visit_match_cast_(binding)

    def _learn(self, symbol: tir.Var, extent: PrimExpr, source: Var) -> None:
        if symbol in self._fixed and symbol not in self._free:
            return
        extent = self.visit_prim_expr(extent)
        known = self._known.get(symbol)
        if known is None:
            if extent is not symbol and _choices(extent) > MAX_CHOICES:
                same = (name for name, long in self._long if structural_equal(long, extent))
                if (name := next(same, None)) is None:
                    self._long.append((symbol, extent))
                    self._fixed.add(symbol)
                    return
                extent = name
            if extent is not symbol:
                self._known[symbol] = extent
                self._told_by[symbol] = source
        elif self._analyzer.can_prove(tir.NE(known, extent)):
            raise ValueError(
                "MatchCast statements must be consistent.  However, the definition of Relax "
                f"variable {self._told_by[symbol].name_hint} implies that TIR variable "
                f"{symbol.name} is {known}, while the later definition of Relax variable "
                f"{source.name_hint} instead implies that TIR variable {symbol.name} is {extent}"
            )

    def visit_function_(self, op: Function) -> RelaxExpr:
        before = dict(self._known), set(self._fixed), self._free, list(self._long)
        self._free = set()
        for param in op.params:
            self._fixed.update(tir_vars_in_struct_info(param.struct_info))
        new = super().visit_function_(op)
        self._known, self._fixed, self._free, self._long = before
        return new

    def visit_if_(self, op: If) -> RelaxExpr:
        cond = self.visit_expr(op.cond)
        info = self.visit_struct_info(op.struct_info)
        branches = [self._branch(b, info) for b in (op.true_branch, op.false_branch)]
        old = (op.cond, op.true_branch, op.false_branch)
        if all(a is b for a, b in zip((cond, *branches), old)):
            return op
        return If(cond, branches[0], branches[1], op.span)

    def _branch(self, branch: SeqExpr, info: StructInfo) -> SeqExpr:
        """The branch with its own knowledge, and a value of the form `info`."""
        known, fixed, free, long = self._known, self._fixed, self._free, self._long
        unchecked, renamed = set(known), dict(self._var_remap)
        while True:
            self._known, self._fixed, self._free = dict(known), set(fixed), fixed - unchecked
            self._long = list(long)
            new = self.visit_with_new_scope(branch)
            assert isinstance(new, SeqExpr), "branches are sequences"
            found = new.body.struct_info
            checked: dict[tir.Var, PrimExpr] = {}
            bind_symbols(info, found, checked)
            replaced = self._free & self._known.keys()
            lost = {symbol for symbol in replaced if checked.get(symbol, symbol) is symbol}
            self._known, self._fixed, self._free, self._long = known, fixed, free, long
            if not lost:
                break
            unchecked |= lost
            self._var_remap = dict(renamed)  # the next attempt starts afresh
        if new is branch or structural_equal(found, info):
            return new
        var = Var("result", info)
        cast = BindingBlock([MatchCast(var, new.body, info)])
        seq = SeqExpr(merge_blocks([*new.blocks, cast]), var, branch.span)
        seq.struct_info_ = info
        return seq


def _choices(extent: PrimExpr) -> int:
    return sum(_is_choice(part) for part in walk(extent))


def _is_choice(part: object) -> bool:
    return getattr(getattr(part, "op", None), "name", "") == "tir.if_then_else"


class _Settled(StmtExprMutator):
    """What is known may leave a choice between equals: `if_then_else(a == 1, b, b)` is b."""

    def visit_call_(self, op: tir.Call) -> PrimExpr:
        new = super().visit_call_(op)
        if not isinstance(new, tir.Call) or not _is_choice(new):
            return new
        _, yes, no = new.args
        return yes if isinstance(yes, PrimExpr) and structural_equal(yes, no) else new
