"""Fill `checked_type` of every expression.

    fn (%x: Tensor[(2), float32]) { add(%x, %x) }
    ->
    fn (%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, %x) /* ty=... */ }

Variables and results without annotation get one, type arguments of calls are written down. What
has its type already is kept as it is; what has not stays without, in the program that was given.
"""

from __future__ import annotations

from typing import Any

from tvm.error import DiagnosticError
from tvm.ir.diagnostics import show_error
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node, with_fields
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import Type
from tvm.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from tvm.relay.expr import Call, RelayExpr, Var, VarWithFields, copied
from tvm.relay.function import Function, FunctionWithFields
from tvm.relay.rewrite import as_function
from tvm.relay.traverse import transform
from tvm.relay.ty import FuncType
from tvm.relay.type_infer import Inference
from tvm.support.recursion import nested_programs


@declare_module_pass("InferType", opt_level=0)
def InferType(mod: IRModule, ctx: PassContext) -> IRModule:
    """The module with types; a DiagnosticError where they do not fit.

    A renderer that was set instead of the default one sees the error as a diagnostic.
    """
    try:
        return typed(mod)
    except DiagnosticError as error:
        show_error(mod, error)
        raise


def typed(mod: IRModule) -> IRModule:
    """What the pass does, where no instrument is to see it."""
    inference = Inference(mod)
    functions = [(v, f) for v, f in mod.functions.items() if isinstance(f, Function)]
    with nested_programs():
        for _, func in functions:
            inference.infer(func)
        inference.solve()
        inference.check_solved()
        found: dict[Any, Any] = {var: typed_expr(func, inference) for var, func in functions}
    for var, made in found.items():
        var.checked_type_ = made.checked_type_
    return mod.with_functions({**mod.functions, **found})


def infer_types_of(expr: RelaxExpr, mod: IRModule | None = None) -> RelaxExpr:
    """An expression with types; its free variables are annotated."""
    inference = Inference(IRModule() if mod is None else mod)
    with nested_programs():
        inference.infer(expr)
        inference.solve()
        inference.check_solved()
        return typed_expr(expr, inference)


def typed_expr(root: RelaxExpr, inference: Inference) -> RelaxExpr:
    """`root` with the types that were found."""
    writer = _Writer(inference)
    return transform(root, writer.rule)


class _Writer:
    """Writes types into expressions; a variable that gets an annotation is made anew."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.vars: dict[Node, Var] = {}
        self.resolved: dict[int, Type] = {}

    def type_of(self, expr: RelaxExpr) -> Type | None:
        found = self.inference.found.get(id(expr))
        if found is None:
            return None
        if id(found) not in self.resolved:
            self.resolved[id(found)] = self.inference.types.resolve(found)
        return self.resolved[id(found)]

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        found = self.type_of(old)
        if isinstance(old, Var):
            return self.var(old)
        if isinstance(new, Function) and isinstance(found, FuncType):
            new = self._function(new, found)
        elif isinstance(new, Call) and not new.type_args:
            given = self.inference.type_args.get(id(old))
            if given:
                new = copied(new) if new is old else new
                new.type_args = tuple(self.inference.types.resolve(t) for t in given)
        elif isinstance(new, Match):
            new = self._match(new)
        if found is not None and isinstance(new, RelayExpr):
            if new is old and not _has_type(new, found):
                new = copied(new)
            new.checked_type_ = found
        return new

    def var(self, old: Var) -> Var:
        known = self.vars.get(old.vid)
        if known is None:
            found = self.inference.types.resolve(self.inference._var(old))
            known = old
            if old.type_annotation is None:
                known = VarWithFields(old, type_annotation=found)
            elif not _has_type(old, found):
                known = copied(old)
            known.checked_type_ = found
            self.vars[old.vid] = known
        return known

    def _function(self, func: Function, found: FuncType) -> Function:
        if func.ret_type is None:
            func = FunctionWithFields(func, ret_type=found.ret_type)
        return func

    def _match(self, match: Match) -> Match:
        patterns = [self._pattern(clause.lhs) for clause in match.clauses]
        if all(new is clause.lhs for new, clause in zip(patterns, match.clauses)):
            return match
        clauses = [Clause(new, clause.rhs) for new, clause in zip(patterns, match.clauses)]
        return Match(match.data, clauses, match.complete)

    def _pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, PatternVar):
            return with_fields(pattern, var=self.var(pattern.var))
        if isinstance(pattern, (PatternConstructor, PatternTuple)):
            inner = tuple(self._pattern(p) for p in pattern.patterns)
            if any(a is not b for a, b in zip(inner, pattern.patterns)):
                return with_fields(pattern, patterns=inner)
        return pattern


def _has_type(expr: RelayExpr, found: Type) -> bool:
    known = expr.checked_type_
    return known is found or (known is not None and bool(known == found))


def typed_module(expr: RelaxExpr) -> IRModule:
    """A module whose main is `expr`, with types."""
    func = expr if isinstance(expr, Function) else as_function(expr)
    return InferType()(IRModule.from_expr(func))


def InferTypeLocal(expr: RelaxExpr) -> Type:
    """The type of an expression whose parts are known; the expression has it from then on."""
    found: Type = infer_types_of(expr).checked_type  # type: ignore[assignment]
    if isinstance(expr, RelayExpr):
        expr.checked_type_ = found
    return found
