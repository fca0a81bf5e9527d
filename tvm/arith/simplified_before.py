"""Results of simplification that hold wherever the same is asked of variables of which the same is
known: kernels of one model ask the same of their indices, each with variables of its own.

    (x * 8 + y) // 8, 0 <= y < 8  ->  x     then     (i * 8 + j) // 8, 0 <= j < 8  ->  i

A question is named by its tree, with variables by the order in which they come, and by the bounds,
ranges and remainders that are known of these. Where more is known (conditions, values that stand
for variables), or the tree holds loads or calls, nothing is remembered.
Results do not depend on what was remembered: they are what simplification would make anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.functor import walk

from .deep_equal import PAIRS, deep_equal

if TYPE_CHECKING:
    from .analyzer import Analyzer

Key = tuple[object, ...]
MAX_RESULTS = 20_000
MAX_NODES: Final = 200  # larger trees come once
NAMEABLE: Final = PAIRS | {e.IntImm, e.Var, e.SizeVar, e.Cast, e.Not}
_results: dict[Key, tuple[list[e.Var], PrimExpr | None]] = {}


class Question:
    """An expression to be simplified: its key, and the variables that the key leaves open."""

    __slots__ = ("_expr", "_key", "_variables")

    def __init__(self, expr: PrimExpr, key: Key, variables: list[e.Var]) -> None:
        self._expr: Final = expr
        self._key: Final = key
        self._variables: Final = variables

    def answer(self) -> PrimExpr | None:
        """The result, in the variables of this question; None where it was not asked before."""
        found = _results.get(self._key)
        if found is None:
            return None
        variables, result = found
        if result is None:
            return self._expr
        return renamed(result, {id(old): new for old, new in zip(variables, self._variables)})

    def note(self, result: PrimExpr) -> None:
        """Remember the result."""
        same = result is self._expr or deep_equal(result, self._expr)
        if same or all(type(node) in NAMEABLE for node in walk(result)):
            if len(_results) >= MAX_RESULTS:
                _results.clear()
            _results[self._key] = (self._variables, None if same else result)


def clear() -> None:
    """Forget all results."""
    _results.clear()


def question_of(analyzer: Analyzer, expr: PrimExpr, what: str) -> Question | None:
    """What is asked of `expr`; None where the answer depends on more than a key holds."""
    if type(expr) not in PAIRS or not analyzer.knows_variables_only():
        return None
    numbers: dict[e.Var, int] = {}
    parts: list[object] = [what, analyzer.rewriter.proving]
    if not append_tree(parts, numbers, expr):
        return None
    bounds, residues = analyzer.bounds.variables, analyzer.modular.variables
    variables: list[e.Var] = []
    while len(variables) < len(numbers):  # what bounds a variable may bring further ones
        for var in list(numbers)[len(variables) :]:
            variables.append(var)
            if var in analyzer.rewriter.values:
                return None
            parts += (type(var), var.dtype, bounds.get(var), residues.get(var))
            dom = analyzer.symbolic_range(var)
            if dom is not None:
                for end in (dom.min, dom.extent):
                    if not append_tree(parts, numbers, end):
                        return None
    if analyzer.rewriter.keeps_nan and any(_is_float(part) for part in parts):
        parts.append("floats may be NaN")
    return Question(expr, tuple(parts), variables)


def _is_float(part: object) -> bool:
    return isinstance(part, DataType) and part.is_floating


def append_tree(parts: list[object], numbers: dict[e.Var, int], expr: PrimExpr) -> bool:
    """Append what an expression says; False where it says more than a key holds."""
    stack: list[PrimExpr] = [expr]
    while stack:
        node = stack.pop()
        kind = type(node)
        if node.span is not None or len(parts) > MAX_NODES:
            return False
        if kind in PAIRS:
            parts.append(kind)
            stack.append(node.b)  # type: ignore[attr-defined]
            stack.append(node.a)  # type: ignore[attr-defined]
        elif kind is e.IntImm:
            parts.append(node.dtype)
            parts.append(node.value)  # type: ignore[attr-defined]
        elif kind is e.Var or kind is e.SizeVar:
            assert isinstance(node, e.Var), "just looked"
            parts.append(numbers.setdefault(node, len(numbers)))
        elif kind is e.Cast:
            parts += (kind, node.dtype)
            stack.append(node.value)  # type: ignore[attr-defined]
        else:
            return False
    return True


def renamed(expr: PrimExpr, names: dict[int, e.Var]) -> PrimExpr:
    """The expression over other variables."""
    kind = type(expr)
    if kind is e.IntImm:
        return expr
    if kind is e.Var or kind is e.SizeVar:
        return names[id(expr)]
    if kind is e.Cast:
        return e.Cast(expr.dtype, renamed(expr.value, names))  # type: ignore[attr-defined]
    if kind is e.Not:
        return e.Not(renamed(expr.a, names))  # type: ignore[attr-defined]
    a, b = renamed(expr.a, names), renamed(expr.b, names)  # type: ignore[attr-defined]
    made: PrimExpr = kind(a, b)  # type: ignore[call-arg]  # all of `PAIRS` take two
    return made
