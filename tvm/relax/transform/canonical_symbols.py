"""Symbols that a cast names anew are replaced by the extents that they stand for.

    y = R.match_cast(x, R.Tensor((q, r)))              x: R.Tensor((p, 8))
    z: R.Tensor((q, r)) = R.add(y, x)         ->       z: R.Tensor((p, 8)) = R.add(y, x)

What a branch learns holds within it; where the branch then gives a value of another form than the
`if` had, it ends in a cast to that form.
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
from tvm.relax.transform.rebuild import all_bindings
from tvm.tir import expr as tir
from tvm.tir.functor import substitute


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
        self._told_by: dict[tir.Var, Var] = {}
        self._analyzer = Analyzer()

    def visit_prim_expr(self, expr: PrimExpr) -> PrimExpr:
        """The extent with what is known put in."""
        if not self._known or isinstance(expr, tir.IntImm):
            return expr
        new = substitute(expr, self._known)
        return expr if new is expr else simplify(new, self._analyzer)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        value = self.builder_.normalize_argument(self.visit_expr(binding.value))
        told: dict[tir.Var, PrimExpr] = {}
        bind_symbols(binding.struct_info, value.struct_info, told)
        for symbol, extent in told.items():
            self._learn(symbol, extent, binding.var)
        super().visit_match_cast_(binding)

    def _learn(self, symbol: tir.Var, extent: PrimExpr, source: Var) -> None:
        extent = self.visit_prim_expr(extent)
        known = self._known.get(symbol)
        if known is None:
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
        before = dict(self._known)
        new = super().visit_function_(op)
        self._known = before
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
        before = dict(self._known)
        new = self.visit_with_new_scope(branch)
        self._known = before
        assert isinstance(new, SeqExpr), "branches are sequences"
        found = new.body.struct_info
        if new is branch or structural_equal(found, info):
            return new
        var = Var("result", info)
        cast = BindingBlock([MatchCast(var, new.body, info)])
        seq = SeqExpr(merge_blocks([*new.blocks, cast]), var, branch.span)
        seq.struct_info_ = info
        return seq
