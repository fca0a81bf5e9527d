"""Patterns of dataflow: find, rewrite and cut out parts of programs by their form.

    pattern = is_op("add")(wildcard(), is_constant())
    pattern.match(expr)
    pattern.partition(expr)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from tvm.error import TVMError
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.type import Type
from tvm.support.arguments import explained
from tvm.tir.expr import IntImm

from .expr import Call, Constant, If, Let, RelayExpr, Tuple, TupleGetItem, Var
from .function import Function
from .traverse import children, post_order, transform
from .ty import Any as AnyDim
from .ty import TensorType
from .variables import free_vars

__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern",
    "DFPatternCallback", "DataTypePattern", "DominatorPattern", "ExprPattern",
    "FunctionPattern", "IfPattern", "LetPattern", "ShapePattern", "TupleGetItemPattern",
    "TuplePattern", "TypePattern", "VarPattern", "WildcardPattern", "dominates", "has_attr",
    "has_dtype", "has_shape", "has_type", "is_constant", "is_expr", "is_if", "is_let", "is_op",
    "is_tuple", "is_tuple_get_item", "is_var", "match", "partition", "register_df_node",
    "rewrite", "wildcard",
]  # fmt: skip


def register_df_node(type_key: str | type | None = None) -> Any:
    """Make a class of patterns known by its type key, for saved programs; a decorator."""

    def register(cls: type) -> type:
        if isinstance(type_key, str):
            cls.TYPE_KEY = f"relay.dataflow_pattern.{type_key}"  # type: ignore[attr-defined]
        register_nodes(cls)
        return cls

    return register(type_key) if isinstance(type_key, type) else register


class DFPattern(Node):
    """The root of patterns; operators of Python combine them."""

    __slots__ = ()
    TYPE_KEY = "relay.dataflow_pattern.DFPattern"

    def __call__(self, *args: DFPattern) -> CallPattern:
        """A call of what this pattern fits."""
        given = args[0] if len(args) == 1 and args[0] is None else list(args)
        return CallPattern(self, given)

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This pattern, with attributes that must be so."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Type) -> TypePattern:
        """This pattern, of a type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """This pattern, of a data type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[PrimExpr | int]) -> ShapePattern:
        """This pattern, of a shape."""
        return ShapePattern(self, shape)

    def match(self, expr: RelaxExpr) -> bool:
        """True when the expression has this form."""
        return match(self, expr)

    def partition(
        self,
        expr: RelaxExpr,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[RelaxExpr], bool] = lambda x: True,
    ) -> RelaxExpr:
        """The expression with calls of functions instead of what matches."""
        return partition(self, expr, attrs, check)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern, all of whose inputs come from `parent` by way of `path`."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """This pattern, or what the function makes of it."""
        return self | option_constructor(self)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The pattern as text; there is nothing to leave out or to annotate."""
        return str(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in _shown(self))})"

    __str__ = __repr__


def _shown(pattern: DFPattern) -> list[tuple[str, Any]]:
    return [(field.name, getattr(pattern, field.name)) for field in pattern.FIELDS]


def _pattern_class(name: str, *names: str) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        cls.TYPE_KEY = f"relay.dataflow_pattern.{name}"  # type: ignore[attr-defined]
        cls.FIELDS = fields(*names)  # type: ignore[attr-defined]
        register_nodes(cls)
        return cls

    return decorate


@_pattern_class("ExprPattern", "expr")
class ExprPattern(DFPattern):
    """Exactly this expression (or one that is equal by structure)."""

    __slots__ = ("expr",)
    FIELDS: ClassVar[tuple[Field, ...]]

    def __init__(self, expr: RelaxExpr) -> None:
        self.expr: Final = expr


@_pattern_class("VarPattern", "name")
class VarPattern(DFPattern):
    """A variable, of a name if it is given."""

    __slots__ = ("name",)

    def __init__(self, name_hint: str = "") -> None:
        self.name: Final = name_hint


@_pattern_class("ConstantPattern")
class ConstantPattern(DFPattern):
    """A constant."""

    __slots__ = ()


@_pattern_class("CallPattern", "op", "args")
class CallPattern(DFPattern):
    """A call; without `args`, of whatever arguments."""

    __slots__ = ("args", "op")

    @explained
    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None) -> None:
        self.op: Final = op
        self.args: Final = None if args is None else tuple(args)


@_pattern_class("FunctionPattern", "params", "body")
class FunctionPattern(DFPattern):
    """A function."""

    __slots__ = ("body", "params")

    @explained
    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params: Final = None if params is None else tuple(params)
        self.body: Final = body


@_pattern_class("IfPattern", "cond", "true_branch", "false_branch")
class IfPattern(DFPattern):
    """A conditional."""

    __slots__ = ("cond", "false_branch", "true_branch")

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> None:
        self.cond: Final = cond
        self.true_branch: Final = true_branch
        self.false_branch: Final = false_branch


@_pattern_class("LetPattern", "var", "value", "body")
class LetPattern(DFPattern):
    """A let."""

    __slots__ = ("body", "value", "var")

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern) -> None:
        self.var: Final = var
        self.value: Final = value
        self.body: Final = body


@_pattern_class("TuplePattern", "fields")
class TuplePattern(DFPattern):
    """A tuple; without `fields`, of whatever fields."""

    __slots__ = ("fields",)

    @explained
    def __init__(self, fields: Sequence[DFPattern] | None) -> None:
        self.fields: Final = None if fields is None else tuple(fields)

    def __getitem__(self, index: int) -> TupleGetItemPattern:
        if self.fields is not None and index >= len(self.fields):
            raise IndexError("TuplePattern index out of range")
        return TupleGetItemPattern(self, index)

    def __len__(self) -> int:
        return len(self.fields or ())

    def astype(self, _: str) -> Any:
        """Tuples have no element type."""
        raise TypeError("astype cannot be used on TuplePattern")


@_pattern_class("TupleGetItemPattern", "tuple", "index")
class TupleGetItemPattern(DFPattern):
    """A field of a tuple; without `index`, any."""

    __slots__ = ("index", "tuple")

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple: Final = tuple_value
        self.index: Final = -1 if index is None else index


@_pattern_class("AltPattern", "left", "right")
class AltPattern(DFPattern):
    """One or the other."""

    __slots__ = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left: Final = left
        self.right: Final = right


@_pattern_class("WildcardPattern")
class WildcardPattern(DFPattern):
    """Anything; or, once it is redirected, what another pattern fits."""

    __slots__ = ("pattern",)

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Let this wildcard stand for a pattern, which may hold the wildcard itself."""
        self.pattern = pat


@_pattern_class("TypePattern", "pattern", "type")
class TypePattern(DFPattern):
    """A pattern whose value has a type."""

    __slots__ = ("pattern", "type")

    def __init__(self, pattern: DFPattern, ttype: Type) -> None:
        self.pattern: Final = pattern
        self.type: Final = ttype


@_pattern_class("DataTypePattern", "pattern", "dtype")
class DataTypePattern(DFPattern):
    """A pattern whose value has a data type."""

    __slots__ = ("dtype", "pattern")

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        self.pattern: Final = pattern
        self.dtype: Final = dtype


@_pattern_class("ShapePattern", "pattern", "shape")
class ShapePattern(DFPattern):
    """A pattern whose value has a shape."""

    __slots__ = ("pattern", "shape")

    @explained
    def __init__(self, pattern: DFPattern, shape: Sequence[PrimExpr | int]) -> None:
        self.pattern: Final = pattern
        self.shape: Final = tuple(shape)


@_pattern_class("AttrPattern", "pattern", "attrs")
class AttrPattern(DFPattern):
    """A pattern with attributes: of a call, an operator or a function."""

    __slots__ = ("attrs", "pattern")

    @explained
    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        self.pattern: Final = pattern
        self.attrs: Final = dict(attrs.items())


@_pattern_class("DominatorPattern", "parent", "path", "child")
class DominatorPattern(DFPattern):
    """A child all of whose inputs come from a parent by way of `path`."""

    __slots__ = ("child", "parent", "path")

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern) -> None:
        self.parent: Final = parent
        self.path: Final = path
        self.child: Final = child


# --- makers ---


def is_var(name: str = "") -> VarPattern:
    """A variable, of a name if it is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: RelaxExpr) -> ExprPattern:
    """Exactly this expression."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """An operator."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """A tuple."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A conditional."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A let."""
    return LetPattern(var, value, body)


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """A value of a type."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """A value of a data type."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(
    shape: Sequence[PrimExpr | int], pattern: DFPattern | None = None
) -> ShapePattern:
    """A value of a shape."""
    return ShapePattern(wildcard() if pattern is None else pattern, shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Something with attributes."""
    return AttrPattern(wildcard() if pattern is None else pattern, attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """A child all of whose inputs come from `parent` by way of `path`."""
    return DominatorPattern(parent, path, child)


# --- matching ---


class Matcher:
    """One attempt: what each pattern stands for. A pattern that is used twice fits one thing."""

    def __init__(self, users: Mapping[int, Sequence[RelaxExpr]] | None = None) -> None:
        self.found: dict[int, RelaxExpr] = {}
        self.trail: list[tuple[DFPattern, RelaxExpr]] = []
        self.users = users or {}

    def match(self, pattern: DFPattern, expr: RelaxExpr) -> bool:
        """True when the expression fits; what was noted stays only then."""
        known = self.found.get(id(pattern))
        if known is not None and not _is_loop(pattern):
            return known is expr or isinstance(expr, Op)
        mark = len(self.trail)
        if self._fits(pattern, expr):
            self.found[id(pattern)] = expr
            self.trail.append((pattern, expr))
            return True
        self.undo(mark)
        return False

    def undo(self, mark: int) -> None:
        """Forget what was noted after a mark."""
        for pattern, _ in self.trail[mark:]:
            self.found.pop(id(pattern), None)
        del self.trail[mark:]

    def _fits(self, pattern: DFPattern, expr: RelaxExpr) -> bool:
        rule = _FITS.get(type(pattern))
        if rule is None:
            raise TVMError(f"match: a {type(pattern).__name__} is no pattern")
        return rule(self, pattern, expr)

    def all(self, patterns: Sequence[DFPattern], exprs: Sequence[RelaxExpr]) -> bool:
        """Pattern by pattern."""
        return len(patterns) == len(exprs) and all(
            self.match(p, e) for p, e in zip(patterns, exprs)
        )

    def call(self, pattern: CallPattern, expr: RelaxExpr) -> bool:
        if not isinstance(expr, Call):
            return False
        mark = len(self.trail)
        if self.match(pattern.op, expr.op):
            if pattern.args is None or self.all(pattern.args, expr.args):
                return True
            self.undo(mark)
            if _is_commutative(expr) and len(expr.args) == 2 and len(pattern.args) == 2:
                if self.match(pattern.op, expr.op) and self.all(pattern.args, expr.args[::-1]):
                    return True
                self.undo(mark)
        return self._regrouped(pattern, expr)

    def _regrouped(self, pattern: CallPattern, expr: Call) -> bool:
        """(a * b) / c is a * (b / c) too, and the other way round."""
        mine, theirs = _name(pattern.op), getattr(expr.op, "name", None)
        if {mine, theirs} != {"multiply", "divide"} or pattern.args is None:
            return False
        if mine == "divide":
            ways = [
                (pattern.args[0], Call(expr.op, (expr.args[at], expr.args[1 - at])), at)
                for at in (0, 1)
            ]
            return any(self._divide_inside(pattern, top, expr, at) for top, _, at in ways)
        return self._multiply_above(pattern, expr)

    def _divide_inside(self, pattern: CallPattern, top: DFPattern, expr: Call, at: int) -> bool:
        """Pattern (a * b) / c on the expression (x / z) * y."""
        inner, other = expr.args[at], expr.args[1 - at]
        is_quotient = isinstance(inner, Call) and getattr(inner.op, "name", None) == "divide"
        if not is_quotient or not isinstance(top, CallPattern) or top.args is None:
            return False
        if _name(top.op) != "multiply":
            return False
        assert isinstance(inner, Call) and pattern.args is not None, "seen above"
        mark = len(self.trail)
        for pair in ((inner.args[0], other), (other, inner.args[0])):
            if self.all(top.args, pair) and self.match(pattern.args[1], inner.args[1]):
                return True
            self.undo(mark)
        return False

    def _multiply_above(self, pattern: CallPattern, expr: Call) -> bool:
        """Pattern (a / c) * b on the expression (x * y) / z."""
        product = expr.args[0]
        if not isinstance(product, Call) or getattr(product.op, "name", None) != "multiply":
            return False
        assert pattern.args is not None, "seen above"
        mark = len(self.trail)
        for at in (0, 1):
            inner, other = pattern.args[at], pattern.args[1 - at]
            if not isinstance(inner, CallPattern) or _name(inner.op) != "divide":
                continue
            assert inner.args is not None, "it has operands"
            for x, y in (product.args, product.args[::-1]):
                if (
                    self.match(inner.args[0], x) and self.match(inner.args[1], expr.args[1])
                    and self.match(other, y)
                ):  # fmt: skip
                    return True
                self.undo(mark)
        return False

    def attributes(self, pattern: AttrPattern, expr: RelaxExpr) -> bool:
        if not self.match(pattern.pattern, expr):
            return False
        if isinstance(expr, Op):
            return all(
                expr.has_attr(name) and _same(expr.get_attr(name), want)
                for name, want in pattern.attrs.items()
            )
        attrs: Any = getattr(expr, "attrs", None)
        if attrs is None:
            return False
        given = dict(attrs.items())
        return all(k in given and _same(given[k], want) for k, want in pattern.attrs.items())

    def typed(self, pattern: TypePattern, expr: RelaxExpr) -> bool:
        found = _type_of(expr)
        return found == pattern.type and self.match(pattern.pattern, expr)

    def dtyped(self, pattern: DataTypePattern, expr: RelaxExpr) -> bool:
        found = _type_of(expr)
        fits = isinstance(found, TensorType) and str(found.dtype) == str(pattern.dtype)
        return fits and self.match(pattern.pattern, expr)

    def shaped(self, pattern: ShapePattern, expr: RelaxExpr) -> bool:
        found = _type_of(expr)
        if not isinstance(found, TensorType) or len(found.shape) != len(pattern.shape):
            return False
        same = all(_same_extent(a, b) for a, b in zip(found.shape, pattern.shape))
        return same and self.match(pattern.pattern, expr)

    def dominated(self, pattern: DominatorPattern, expr: RelaxExpr) -> bool:
        """Every way up from the child, through what fits the path, ends at one parent.

        Operands are looked at in order; those behind a parent may be anything.
        """
        if not self.match(pattern.child, expr):
            return False
        stack, seen = [expr], {id(expr)}
        while stack:
            node = stack.pop()
            for part in _inputs(node):
                if self.match(pattern.parent, part):
                    break
                if id(part) in seen:
                    continue
                seen.add(id(part))
                step = Matcher()
                if isinstance(part, (Var, Constant)) or not step.match(pattern.path, part):
                    return False
                self.trail.extend(step.trail)  # of these there may be many
                stack.append(part)
        return id(pattern.parent) in self.found


def _is_loop(pattern: DFPattern) -> bool:
    return isinstance(pattern, WildcardPattern) and pattern.pattern is not None


def _inputs(expr: RelaxExpr) -> list[RelaxExpr]:
    return [part for part in children(expr) if not isinstance(part, Op)]


def _name(pattern: DFPattern) -> str | None:
    return getattr(pattern.expr, "name", None) if isinstance(pattern, ExprPattern) else None


def _is_commutative(call: Call) -> bool:
    return getattr(call.op, "name", "") in ("add", "multiply")


def _type_of(expr: RelaxExpr) -> Type | None:
    found = getattr(expr, "checked_type_", None)
    if found is None and isinstance(expr, Var):
        found = expr.type_annotation
    if found is None and not isinstance(expr, Op):
        from .transform.infer_type import infer_types_of

        found = getattr(infer_types_of(expr), "checked_type_", None)
    return found


def _same_extent(a: Any, b: Any) -> bool:
    if isinstance(a, AnyDim) or isinstance(b, AnyDim):
        return isinstance(a, AnyDim) and isinstance(b, AnyDim)
    x = int(a.value) if isinstance(a, IntImm) else a
    y = int(b.value) if isinstance(b, IntImm) else b
    return x is y or (isinstance(x, int) and isinstance(y, int) and x == y)


def _same(have: Any, want: Any) -> bool:
    if isinstance(want, (list, tuple)) and isinstance(have, (list, tuple)):
        return len(have) == len(want) and all(_same(a, b) for a, b in zip(have, want))
    if isinstance(want, Node) or isinstance(have, Node):
        return structural_equal(have, want)
    return bool(have == want) or str(have) == str(want)


def _fits_expr(m: Matcher, pattern: ExprPattern, expr: RelaxExpr) -> bool:
    return pattern.expr is expr or structural_equal(pattern.expr, expr)


def _fits_function(m: Matcher, pattern: FunctionPattern, expr: RelaxExpr) -> bool:
    if not isinstance(expr, Function):
        return False
    fits = pattern.params is None or m.all(pattern.params, expr.params)
    return fits and m.match(pattern.body, expr.body)


def _fits_item(m: Matcher, pattern: TupleGetItemPattern, expr: RelaxExpr) -> bool:
    if not isinstance(expr, TupleGetItem) or pattern.index not in (-1, expr.index):
        return False
    return m.match(pattern.tuple, expr.tuple_value)


def _fits_if(m: Matcher, pattern: IfPattern, expr: RelaxExpr) -> bool:
    wanted = (pattern.cond, pattern.true_branch, pattern.false_branch)
    return isinstance(expr, If) and m.all(wanted, children(expr))


def _fits_let(m: Matcher, pattern: LetPattern, expr: RelaxExpr) -> bool:
    wanted = (pattern.var, pattern.value, pattern.body)
    return isinstance(expr, Let) and m.all(wanted, children(expr))


_FITS: Final[dict[type, Callable[[Matcher, Any, RelaxExpr], bool]]] = {
    ExprPattern: _fits_expr,
    VarPattern: lambda m, p, e: isinstance(e, Var) and p.name in ("", e.name_hint),
    ConstantPattern: lambda m, p, e: isinstance(e, Constant),
    CallPattern: Matcher.call,
    FunctionPattern: _fits_function,
    IfPattern: _fits_if,
    LetPattern: _fits_let,
    TuplePattern: lambda m, p, e: isinstance(e, Tuple) and (
        p.fields is None or m.all(p.fields, e.fields)),
    TupleGetItemPattern: _fits_item,
    AltPattern: lambda m, p, e: m.match(p.left, e) or m.match(p.right, e),
    WildcardPattern: lambda m, p, e: p.pattern is None or m.match(p.pattern, e),
    TypePattern: Matcher.typed,
    DataTypePattern: Matcher.dtyped,
    ShapePattern: Matcher.shaped,
    AttrPattern: Matcher.attributes,
    DominatorPattern: Matcher.dominated,
}  # fmt: skip


def match(pattern: DFPattern, expr: RelaxExpr) -> bool:
    """True when the expression has the pattern's form."""
    return Matcher().match(pattern, expr)


# --- rewriting ---


class DFPatternCallback:
    """A rewrite: what fits `pattern` becomes what `callback` gives for it."""

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression with all that fits rewritten."""
        return rewrite(self, expr)

    def callback(
        self, pre: RelaxExpr, post: RelaxExpr, node_map: Mapping[DFPattern, Sequence[RelaxExpr]]
    ) -> RelaxExpr:
        """What a match becomes: `post` is it with its parts rewritten."""
        raise MissingCallback("DFPatternCallback: define callback(pre, post, node_map)")


class MissingCallback(TVMError, NotImplementedError):
    """A rewrite does not say what a match becomes."""


def _node_map(found: Matcher) -> dict[DFPattern, list[RelaxExpr]]:
    made: dict[DFPattern, list[RelaxExpr]] = {}
    for pattern, expr in found.trail:
        made.setdefault(pattern, []).append(expr)
    return made


@explained
def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback],
    expr: RelaxExpr,
    mod: IRModule | None = None,
) -> RelaxExpr:
    """`expr` rewritten by callbacks, one after another, until none changes anything."""
    given = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for _ in range(100):
        before = expr
        for callback in given:
            expr = _rewrite_once(callback, expr, mod)
        once = all(callback.rewrite_once for callback in given)
        if once or structural_equal(before, expr):
            return expr
    raise TVMError("rewrite: no end after 100 rounds; legal: callbacks that come to an end")


def _rewrite_once(
    callback: DFPatternCallback, expr: RelaxExpr, mod: IRModule | None
) -> RelaxExpr:
    if callback.require_type:
        from .transform.infer_type import infer_types_of

        expr = infer_types_of(expr, mod)

    groups = {id(root): found for root, found, _ in _groups(callback.pattern, expr, set())}
    made: dict[int, RelaxExpr] = {}

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        made[id(old)] = new
        if id(old) in groups:
            if isinstance(new, RelayExpr) and new.checked_type_ is None:
                new.checked_type_ = getattr(old, "checked_type_", None)
            parts = {
                pattern: [made.get(id(part), part) for part in nodes]
                for pattern, nodes in _node_map(groups[id(old)]).items()
            }
            made[id(old)] = callback.callback(old, new, parts)
        return made[id(old)]

    return transform(expr, rule)


def _groups(
    pattern: DFPattern, expr: RelaxExpr, taken: set[int]
) -> Iterator[tuple[RelaxExpr, Matcher, set[int]]]:
    """Matches from the end of a program on, each with what is inside, none in another's.

    Nobody else uses the inner parts of one. They are added to `taken`; a caller that refuses a
    match takes them out again.
    """
    users: dict[int, list[RelaxExpr]] = {}
    order = list(post_order(expr))
    for node in order:
        for part in children(node):
            users.setdefault(id(part), []).append(node)
    for node in reversed(order):
        found = Matcher()
        if isinstance(node, Op) or id(node) in taken or not found.match(pattern, node):
            continue
        inside = _inside(found, node)
        matched = inside | {id(part) for _, part in found.trail}
        if not inside & taken and _closed(inside, matched, node, users):
            taken |= inside
            yield node, found, inside


def partition(
    pattern: DFPattern,
    expr: RelaxExpr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[RelaxExpr], bool] = lambda x: True,
) -> RelaxExpr:
    """`expr` with what matches moved to functions (attribute `PartitionedFromPattern`)."""
    groups: dict[int, tuple[int, Matcher, set[int]]] = {}
    taken: set[int] = set()
    for node in post_order(expr):
        if isinstance(node, Function) and "PartitionedFromPattern" in node.attrs:
            taken.update(id(inside) for inside in post_order(node))  # by an earlier pattern
    # Matches that the check refuses are numbered, too.
    for number, (node, found, inside) in enumerate(_groups(pattern, expr, taken)):
        if check(node):
            groups[id(node)] = (number, found, inside)
        else:
            taken -= inside
    return _cut_out(expr, groups, attrs or {})


def _inside(found: Matcher, root: RelaxExpr) -> set[int]:
    """The expressions that become the function's body: not wildcards, variables or constants."""
    inside = {id(root)}
    loose = {id(e) for p, e in found.trail if isinstance(p, (WildcardPattern, VarPattern))}
    named = {
        id(e) for p, e in found.trail
        if not isinstance(p, (WildcardPattern, VarPattern, AltPattern))
    }
    for _, e in found.trail:
        is_inner = isinstance(e, (Call, Tuple, TupleGetItem, If, Let)) and id(e) in named
        if is_inner and id(e) not in loose - named:
            inside.add(id(e))
    return inside


def match_inside(pattern: DFPattern, expr: RelaxExpr) -> set[int] | None:
    """The addresses of what would be the body of a match's function; None where nothing fits."""
    found = Matcher()
    return _inside(found, expr) if found.match(pattern, expr) else None


def _closed(
    inside: set[int], matched: set[int], root: RelaxExpr, users: Mapping[int, list[RelaxExpr]]
) -> bool:
    """Only what the pattern matched, if by a wildcard, uses a part of the body but its result."""
    return all(
        id(user) in matched for part in inside if part != id(root) for user in users.get(part, ())
    )


def _cut_out(
    root: RelaxExpr, groups: Mapping[int, tuple[int, Matcher, set[int]]], attrs: Mapping[str, Any]
) -> RelaxExpr:
    outside: dict[int, RelaxExpr] = {}

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        group = groups.get(id(old))
        made = new if group is None else _function_call(old, *group, outside, attrs)
        outside[id(old)] = made
        return made

    return transform(root, rule)


def _function_call(
    root: RelaxExpr, number: int, found: Matcher, inside: set[int],
    outside: Mapping[int, RelaxExpr], attrs: Mapping[str, Any],
) -> RelaxExpr:  # fmt: skip
    """A call of the matched part as a function.

    A constant that a pattern asks for stays in it; one that fits anything is an argument.
    """
    params: list[Var] = []
    args: list[RelaxExpr] = []
    names: dict[int, RelaxExpr] = {}
    kinds: list[str] = []
    asked = {id(e) for p, e in found.trail if isinstance(p, (ConstantPattern, ExprPattern))}

    def part(node: RelaxExpr) -> RelaxExpr:
        if id(node) in inside and id(node) not in names:
            names[id(node)] = _with_parts(node, [part(p) for p in children(node)])
            kinds.append(_kind(node))
        if id(node) in names:
            return names[id(node)]
        stays = isinstance(node, (Op, Function)) or id(node) in asked
        if stays and isinstance(node, (Op, Constant, Function)) and not _has_free(node):
            return node
        kind = node.type_annotation if isinstance(node, Var) else None
        kind = kind or getattr(node, "checked_type_", None)
        params.append(Var(f"FunctionVar_{number}_{len(params)}"))
        params[-1].checked_type_ = kind  # known, and not stated
        args.append(outside.get(id(node), node))
        names[id(node)] = params[-1]
        return params[-1]

    body = part(root)
    name = "".join(f"{kind}_" for kind in kinds)
    func = Function(params, body, None, None, {"PartitionedFromPattern": name, **attrs})
    return Call(func, args)


def _has_free(node: RelaxExpr) -> bool:
    return isinstance(node, Function) and bool(free_vars(node))


def _with_parts(node: RelaxExpr, parts: Sequence[RelaxExpr]) -> RelaxExpr:
    from .traverse import rebuild

    return rebuild(node, parts)


def _kind(node: RelaxExpr) -> str:
    if isinstance(node, Call):
        return str(getattr(node.op, "name", "FunctionCall"))
    if isinstance(node, TupleGetItem):
        return f"TupleGetItem{node.index}"
    return type(node).__name__


