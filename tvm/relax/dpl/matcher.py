"""Is an expression what a pattern describes? What does each part of the pattern match?

Variables are looked through where their values are known. A match is a mapping from patterns to
expressions; it is never changed, so that an alternative that fails leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tvm.ir.attrs import Attrs
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.base_expr import Id
from tvm.relax.expr import (
    Call,
    Constant,
    DataflowVar,
    ExternFunc,
    Function,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.shape_math import same_shape
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.struct_info_rules import is_base_of, substitute_struct_info
from tvm.tir import expr as tir

from .pattern import (
    ANY_INDEX,
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    FunctionPattern,
    GlobalVarPattern,
    NotPattern,
    OrPattern,
    PrimArrPattern,
    ShapePattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
)


class Match:
    """What patterns match, and what the pattern's own symbols stand for."""

    __slots__ = ("exprs", "symbols")

    def __init__(
        self,
        exprs: Mapping[DFPattern, RelaxExpr] | None = None,
        symbols: Mapping[tir.Var, PrimExpr] | None = None,
    ) -> None:
        self.exprs: Final = exprs or {}
        self.symbols: Final = symbols or {}

    def with_expr(self, pattern: DFPattern, expr: RelaxExpr) -> Match:
        """This, and what `pattern` matches."""
        return Match({**self.exprs, pattern: expr}, self.symbols)


EMPTY: Final = Match()


class Matcher:
    """Compares patterns with expressions, where `values` says what variables are bound to."""

    def __init__(self, values: Mapping[Id, RelaxExpr]) -> None:
        self.values = values

    def value_of(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression behind a variable; the variable itself if its value is not known."""
        while isinstance(expr, Var):
            value = self.values.get(expr.vid)
            if value is None or isinstance(value, SeqExpr):
                return expr
            expr = value
        return expr

    def same(self, a: RelaxExpr, b: RelaxExpr) -> bool:
        """True if both are one value."""
        x, y = self.value_of(a), self.value_of(b)
        return x is y or (isinstance(x, Var) and isinstance(y, Var) and x.vid is y.vid)

    def match(self, pattern: DFPattern, expr: RelaxExpr, found: Match = EMPTY) -> Match | None:
        """`found` and what the parts of `pattern` match in `expr`; None if it does not match."""
        known = found.exprs.get(pattern)
        if known is not None:
            return found if self.same(known, expr) else None
        result = _RULES[type(pattern)](self, pattern, expr, found)
        return None if result is None else result.with_expr(pattern, expr)

    def match_all(
        self, patterns: Sequence[DFPattern], exprs: Sequence[RelaxExpr], found: Match
    ) -> Match | None:
        """All patterns with the expressions that they matched."""
        if len(patterns) != len(exprs):
            return None
        result: Match | None = found
        for pattern, expr in zip(patterns, exprs):
            result = self.match(pattern, expr, result)  # type: ignore[arg-type]
            if result is None:
                return None
        return result


def extract_matched_expr(
    pattern: DFPattern, expr: RelaxExpr, var2val: Mapping[Var, RelaxExpr] | None = None
) -> dict[DFPattern, RelaxExpr] | None:
    """What each part of the pattern matches: values where variables' values are known."""
    matcher = Matcher({var.vid: value for var, value in (var2val or {}).items()})
    found = matcher.match(pattern, expr)
    if found is None:
        return None
    return {part: matcher.value_of(matched) for part, matched in found.exprs.items()}


# --- one rule a pattern ---


def _wildcard(m: Matcher, p: WildcardPattern, expr: RelaxExpr, found: Match) -> Match | None:
    return found


def _expr(m: Matcher, p: ExprPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    if value is p.expr or (isinstance(p.expr, Var) and m.same(p.expr, expr)):
        return found
    if isinstance(value, Op) or isinstance(p.expr, Op) or type(value) is not type(p.expr):
        return None
    return found if structural_equal(value, p.expr) else None


def _var(m: Matcher, p: VarPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)  # a variable whose value is known is its value
    return found if isinstance(value, Var) and p.name in ("", value.name_hint) else None


def _dataflow_var(
    m: Matcher, p: DataflowVarPattern, expr: RelaxExpr, found: Match
) -> Match | None:
    value = m.value_of(expr)
    return found if isinstance(value, DataflowVar) and p.name in ("", value.name_hint) else None


def _global_var(m: Matcher, p: GlobalVarPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    return found if isinstance(value, GlobalVar) and p.name in ("", value.name_hint) else None


def _extern_func(m: Matcher, p: ExternFuncPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    legal = isinstance(value, ExternFunc) and p.global_symbol in ("", value.global_symbol)
    return found if legal else None


def _constant(m: Matcher, p: ConstantPattern, expr: RelaxExpr, found: Match) -> Match | None:
    return found if isinstance(m.value_of(expr), Constant) else None


_COMMUTATIVE: Final = frozenset(("relax.add", "relax.multiply"))


def _call(m: Matcher, p: CallPattern, expr: RelaxExpr, found: Match) -> Match | None:
    call = m.value_of(expr)
    if not isinstance(call, Call):
        return None
    if isinstance(p.op, ExprPattern) and isinstance(p.op.expr, Op) and p.op.expr is not call.op:
        return None  # the usual miss, answered quickly
    count = len(p.args)
    if len(call.args) < count or (len(call.args) > count and not p.varg_default_wildcard):
        return None
    inner = m.match(p.op, call.op, found)
    if inner is None:
        return None
    result = m.match_all(p.args, call.args[:count], inner)
    if result is None and isinstance(call.op, Op) and call.op.name in _COMMUTATIVE:
        result = m.match_all(p.args, call.args[::-1][:count], inner)
    return result


def _function(m: Matcher, p: FunctionPattern, expr: RelaxExpr, found: Match) -> Match | None:
    func = m.value_of(expr)
    if not isinstance(func, Function):
        return None
    inside = dict(m.values)
    for block in func.body.blocks:
        inside.update((binding.var.vid, binding.value) for binding in block.bindings)
    inner = Matcher(inside)
    params = inner.match_all(p.params, func.params, found)
    return None if params is None else inner.match(p.body, func.body.body, params)


def _tuple(m: Matcher, p: TuplePattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    return m.match_all(p.fields, value.fields, found) if isinstance(value, Tuple) else None


def _unordered_tuple(
    m: Matcher, p: UnorderedTuplePattern, expr: RelaxExpr, found: Match
) -> Match | None:
    value = m.value_of(expr)
    if not isinstance(value, Tuple) or len(value.fields) != len(p.fields):
        return None
    return _assign(m, p.fields, list(value.fields), found)


def _assign(
    m: Matcher, patterns: Sequence[DFPattern], exprs: list[RelaxExpr], found: Match
) -> Match | None:
    """Each pattern with another of the expressions, in any order."""
    if not patterns:
        return found
    for at, expr in enumerate(exprs):
        first = m.match(patterns[0], expr, found)
        if first is not None:
            rest = _assign(m, patterns[1:], exprs[:at] + exprs[at + 1 :], first)
            if rest is not None:
                return rest
    return None


def _item(m: Matcher, p: TupleGetItemPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    if not isinstance(value, TupleGetItem) or p.index not in (ANY_INDEX, value.index):
        return None
    return m.match(p.tuple, value.tuple_value, found)


def _or(m: Matcher, p: OrPattern, expr: RelaxExpr, found: Match) -> Match | None:
    left = m.match(p.left, expr, found)
    return m.match(p.right, expr, found) if left is None else left


def _and(m: Matcher, p: AndPattern, expr: RelaxExpr, found: Match) -> Match | None:
    left = m.match(p.left, expr, found)
    return None if left is None else m.match(p.right, expr, left)


def _not(m: Matcher, p: NotPattern, expr: RelaxExpr, found: Match) -> Match | None:
    return found if m.match(p.reject, expr, found) is None else None


def _data_type(m: Matcher, p: DataTypePattern, expr: RelaxExpr, found: Match) -> Match | None:
    info = expr.struct_info_
    if not isinstance(info, (TensorStructInfo, PrimStructInfo)) or info.dtype != p.dtype:
        return None
    return m.match(p.pattern, expr, found)


def _shape(m: Matcher, p: ShapePattern, expr: RelaxExpr, found: Match) -> Match | None:
    info = expr.struct_info_
    values = info.values if isinstance(info, TensorStructInfo) else None
    if values is None or not same_shape(p.shape, values):
        return None
    return m.match(p.pattern, expr, found)


def _prim_array(m: Matcher, p: PrimArrPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    if isinstance(value, ShapeExpr):
        return found if same_shape(p.fields, value.values) else None
    info = value.struct_info_
    values = info.values if isinstance(info, ShapeStructInfo) else None
    return found if values is not None and same_shape(p.fields, values) else None


def _struct_info(m: Matcher, p: StructInfoPattern, expr: RelaxExpr, found: Match) -> Match | None:
    """Symbols of the pattern stand for any extent, the same in all of its parts."""
    info = expr.struct_info_
    if info is None:
        return None
    inner = m.match(p.pattern, expr, found)
    if inner is None:
        return None
    wanted: StructInfo = p.struct_info
    symbols = dict(inner.symbols)
    for symbol, extent in _paired(wanted, info):
        symbols.setdefault(symbol, extent)
    if symbols:
        wanted = substitute_struct_info(wanted, symbols)
        inner = Match(inner.exprs, symbols)
    return inner if is_base_of(wanted, info) else None


def _paired(wanted: StructInfo, info: StructInfo) -> Iterator[tuple[tir.Var, PrimExpr]]:
    """Symbols that stand alone in `wanted`, with what stands there in `info`."""
    if isinstance(wanted, TupleStructInfo) and isinstance(info, TupleStructInfo):
        for a, b in zip(wanted.fields, info.fields):
            yield from _paired(a, b)
    elif isinstance(wanted, PrimStructInfo) and isinstance(info, PrimStructInfo):
        if isinstance(wanted.value, tir.Var) and info.value is not None:
            yield wanted.value, info.value
    elif isinstance(wanted, (TensorStructInfo, ShapeStructInfo)) and isinstance(
        info, (TensorStructInfo, ShapeStructInfo)
    ):
        for extent, value in zip(wanted.values or (), info.values or ()):
            if isinstance(extent, tir.Var):
                yield extent, value


def _attr(m: Matcher, p: AttrPattern, expr: RelaxExpr, found: Match) -> Match | None:
    value = m.value_of(expr)
    for key in map(str, p.attrs.keys()):
        has = _attribute(value, key)
        if has is _ABSENT or not same_attribute(p.attrs[key], has):
            return None
    return m.match(p.pattern, expr, found)


_ABSENT: Final = object()  # None is a value: `axes` of a full transposition


def _attribute(value: RelaxExpr, key: str) -> object:
    """The attribute of a call, an operator or a function; _ABSENT if there is none."""
    if isinstance(value, Op):
        found = value.get_attr(key)
        return _ABSENT if found is None else found
    attrs: Attrs | None = getattr(value, "attrs", None)
    return attrs[key] if attrs is not None and key in list(attrs.keys()) else _ABSENT


def same_attribute(wanted: Any, found: Any) -> bool:
    """Equality of attributes, in which 3 and IntImm(3), lists and tuples are the same."""
    if wanted is None or found is None:
        return wanted is found
    if isinstance(wanted, str) or isinstance(found, str):
        return isinstance(found, str) and isinstance(wanted, str) and str(wanted) == str(found)
    if isinstance(wanted, Sequence):
        if not isinstance(found, Sequence) or len(wanted) != len(found):
            return False
        return all(same_attribute(a, b) for a, b in zip(wanted, found))
    return bool(structural_equal(_plain(wanted), _plain(found)))


def _plain(value: Any) -> Any:
    if isinstance(value, PrimValue):
        value = value.value
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        return value.value
    return int(value) if isinstance(value, bool) else value


Rule = Callable[[Matcher, Any, RelaxExpr, Match], "Match | None"]
_RULES: Final[dict[type, Rule]] = {
    WildcardPattern: _wildcard,
    ExprPattern: _expr,
    VarPattern: _var,
    DataflowVarPattern: _dataflow_var,
    GlobalVarPattern: _global_var,
    ExternFuncPattern: _extern_func,
    ConstantPattern: _constant,
    CallPattern: _call,
    FunctionPattern: _function,
    TuplePattern: _tuple,
    UnorderedTuplePattern: _unordered_tuple,
    TupleGetItemPattern: _item,
    OrPattern: _or,
    AndPattern: _and,
    NotPattern: _not,
    DataTypePattern: _data_type,
    ShapePattern: _shape,
    PrimArrPattern: _prim_array,
    StructInfoPattern: _struct_info,
    AttrPattern: _attr,
}

__all__ = ["EMPTY", "Match", "Matcher", "extract_matched_expr", "same_attribute"]
