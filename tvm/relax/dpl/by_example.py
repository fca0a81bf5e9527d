"""A rewriter from two functions: one shows what to look for, the other what to put there.

    @R.rewriter
    class Twice:
        @R.function
        def pattern(A: R.Tensor([16], "float32")):
            return R.add(A, A)
        @R.function
        def replacement(A: R.Tensor([16], "float32")):
            return R.multiply(A, R.const(2.0, "float32"))

Parameters match anything that has their struct info; symbols in their shapes stand for any extent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.base_expr import Id
from tvm.relax.bind import Binder, copy_with_new_vars
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    MatchCast,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.struct_info import PrimStructInfo, ShapeStructInfo
from tvm.tir import expr as tir

from .apply import Rewrites
from .matcher import Match, Matcher
from .pattern import (
    AttrPattern,
    CallPattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)
from .rewrite import PatternMatchingRewriter, groups, parts_of, values_of


class RewriterModuleError(TVMError, ValueError):
    """A module that is no rewriter."""


class MissingFunctionError(RewriterModuleError, KeyError):
    """`pattern` or `replacement` is missing."""

    __str__ = RuntimeError.__str__  # a KeyError would quote the message


class FunctionKindError(RewriterModuleError, TypeError):
    """A function, or something in it, that is no pattern."""


def rewriter_from_module(mod: IRModule) -> PatternMatchingRewriter:
    """The rewriter that the functions `pattern` and `replacement` of the module describe."""
    pattern = _function(mod, "pattern", "defining the pattern to be matched")
    replacement = _function(mod, "replacement", "defining what takes the pattern's place")
    others: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if var.name_hint in ("pattern", "replacement"):
            continue
        if func.attrs.get("global_symbol") is not None:
            raise RewriterModuleError(
                "Expected module to have no publicly-exposed functions other than 'pattern' and "
                f"'replacement'.  However, function '{var.name_hint}' is exposed as "
                f"'{func.attrs.get('global_symbol')}'; legal: @R.function(private=True)"
            )
        others[var] = func
    if not structural_equal(pattern.struct_info, replacement.struct_info):
        raise RewriterModuleError(
            message(
                "The pattern and replacement must have the same signature",
                found=f"the pattern has {pattern.struct_info}, "
                f"the replacement has {replacement.struct_info}",
                legal="equal parameters and results",
            )
        )
    return ExampleRewriter(pattern, replacement, others)


def _function(mod: IRModule, name: str, what: str) -> Function:
    found = [func for var, func in mod.functions.items() if var.name_hint == name]
    if not found:
        raise MissingFunctionError(
            f"Expected module to contain '{name}', a Relax function {what}, but the module did "
            f"not contain a '{name}' function; "
            f"found {', '.join(var.name_hint for var in mod.functions) or 'none'}"
        )
    if not isinstance(found[0], Function):
        raise FunctionKindError(
            f"Expected module to contain '{name}', a Relax function {what}, but the '{name}' "
            f"function was of type {type(found[0]).__name__}"
        )
    return found[0]


class _Reader:
    """A function as a pattern."""

    def __init__(self, func: Function) -> None:
        self.params: list[DFPattern] = []
        self.of_var: dict[Id, DFPattern] = {}
        for param in func.params:
            wildcard = WildcardPattern()
            self.params.append(wildcard)
            self.of_var[param.vid] = StructInfoPattern(wildcard, param.struct_info)
        for block in func.body.blocks:
            for binding in block.bindings:
                self.of_var[binding.var.vid] = self._bound(binding)
        self.result = self.pattern(func.body.body)

    def _bound(self, binding: Binding) -> DFPattern:
        value = self.pattern(binding.value)
        if isinstance(binding, MatchCast):
            return StructInfoPattern(value, binding.struct_info)
        return value

    def pattern(self, expr: RelaxExpr) -> DFPattern:
        if isinstance(expr, Var):
            return self.of_var[expr.vid]
        if isinstance(expr, Call):
            args = [self.pattern(arg) for arg in expr.args]
            call: DFPattern = CallPattern(self.pattern(expr.op), args, False, False)
            return call if expr.attrs is None else AttrPattern(call, expr.attrs)
        if isinstance(expr, Tuple):
            return TuplePattern([self.pattern(field) for field in expr.fields])
        if isinstance(expr, TupleGetItem):
            return TupleGetItemPattern(self.pattern(expr.tuple_value), expr.index)
        if isinstance(expr, (Op, Constant, StringImm, DataTypeImm, GlobalVar)):
            return ExprPattern(expr)
        if isinstance(expr, ExternFunc):
            return ExternFuncPattern(expr.global_symbol)
        if isinstance(expr, PrimValue):
            return StructInfoPattern(WildcardPattern(), PrimStructInfo(value=expr.value))
        if isinstance(expr, ShapeExpr):
            return StructInfoPattern(WildcardPattern(), ShapeStructInfo(expr.values))
        raise FunctionKindError(
            f"Cannot convert Relax expression of type {type(expr).__name__} to pattern-matching "
            f"rule: {expr}; legal: calls, tuples, their items, constants and parameters"
        )


class ExampleRewriter(PatternMatchingRewriter):
    """Replaces what is computed as one function does it by what another one does."""

    __slots__ = ("_others", "_pattern", "_replacement")
    TYPE_KEY = "relax.dpl.ExampleRewriter"

    def __init__(
        self, pattern: Function, replacement: Function, others: Mapping[GlobalVar, BaseFunc]
    ) -> None:
        super().__init__()
        self._pattern: Final = _Reader(pattern)
        self._replacement: Final = replacement
        self._others: Final = dict(others)

    def find(self, block: BindingBlock) -> Rewrites:
        matcher = Matcher(values_of(block))
        result = self._pattern.result
        values: dict[Id, RelaxExpr] = {}
        for binding in block.bindings:
            match = matcher.match(result, binding.value)
            if match is not None and not isinstance(binding, MatchCast):
                values[binding.var.vid] = self._replaced(match)
        if not values and isinstance(result, TuplePattern):
            for chosen, match in groups(matcher, result.fields, block):
                values.update(self._parts(match, chosen))
        return Rewrites(values, self._others if values else None)

    def _parts(self, match: Match, chosen: list[Binding]) -> dict[Id, RelaxExpr]:
        return parts_of(self._replaced(match), chosen)

    def _replaced(self, match: Match) -> RelaxExpr:
        """The body of the replacement, for the arguments that were matched."""
        func = copy_with_new_vars(self._replacement)
        values: dict[Id, RelaxExpr] = {}
        symbols: dict[tir.Var, PrimExpr] = {}
        for param, pattern in zip(func.params, self._pattern.params):
            arg = match.exprs.get(pattern)
            if arg is None:
                continue  # the pattern does not use the parameter
            values[param.vid] = arg
            if arg.struct_info_ is not None:
                bind_symbols(param.struct_info, arg.struct_info_, symbols)
        body = func.body
        expr: RelaxExpr = body if body.blocks else body.body
        return Binder(values, symbols).visit_expr(expr)
