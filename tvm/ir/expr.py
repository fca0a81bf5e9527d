"""Expressions that every IR shares, and the Python operators on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeAlias, final

from tvm.error import CheckError
from tvm.support.compiled import COMPILED, called, hashed_by_identity, mypyc_attr
from tvm.support.dtype import DataType
from tvm.support.registry import Registry

from .node import Field, Node, fields, of_type, register_nodes
from .scriptable import PRINTERS
from .span import Span
from .type import Type

# Meaning of Python's operators, by dialect and operator name. A dialect fills its own table when
# its operators load: words stand a floor below operators and cannot import them.
OPERATORS: Final[dict[str, dict[str, Callable[..., object]]]] = {
    "tir": {}, "relax": {}, "relay": {},
}  # fmt: skip

if TYPE_CHECKING:
    # What an operator gives is up to the dialect: tensors of TE and calls of Relax are made too.
    if not COMPILED:
        Result: TypeAlias = "PrimExpr"
    else:
        Result: TypeAlias = Any  # compiled code would insist on the class


@mypyc_attr(allow_interpreted_subclasses=True)
class ExprOp(Node):
    """Anything that takes part in Python arithmetic; the dialect says what `+` means."""

    __slots__ = ()
    DIALECT: ClassVar[str] = "tir"

    def _apply(self, name: str, *operands: object) -> Result:
        other = getattr(operands[-1], "DIALECT", "")  # a tensor makes everything elementwise
        table = OPERATORS["te" if other == "te" else self.DIALECT]
        rule = table.get(name)
        if rule is None:
            raise TypeError(f"{type(self).__name__} does not take the operator {name!r}")
        made: Result = rule(*operands)  # type: ignore[assignment]
        return made

    def __add__(self, other: object) -> Result:
        return self._apply("add", self, other)

    def __radd__(self, other: object) -> Result:
        return self._apply("add", other, self)

    def __sub__(self, other: object) -> Result:
        return self._apply("subtract", self, other)

    def __rsub__(self, other: object) -> Result:
        return self._apply("subtract", other, self)

    def __mul__(self, other: object) -> Result:
        return self._apply("multiply", self, other)

    def __rmul__(self, other: object) -> Result:
        return self._apply("multiply", other, self)

    def __truediv__(self, other: object) -> Result:
        return self._apply("divide", self, other)

    def __rtruediv__(self, other: object) -> Result:
        return self._apply("divide", other, self)

    def __floordiv__(self, other: object) -> Result:
        return self._apply("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Result:
        return self._apply("floordiv", other, self)

    def __mod__(self, other: object) -> Result:
        return self._apply("mod", self, other)

    def __rmod__(self, other: object) -> Result:
        return self._apply("mod", other, self)

    def __pow__(self, other: object) -> Result:
        return self._apply("power", self, other)

    def __rpow__(self, other: object) -> Result:
        return self._apply("power", other, self)

    def __neg__(self) -> Result:
        return self._apply("negative", self)

    def __lshift__(self, other: object) -> Result:
        return self._apply("left_shift", self, other)

    def __rlshift__(self, other: object) -> Result:
        return self._apply("left_shift", other, self)

    def __rshift__(self, other: object) -> Result:
        return self._apply("right_shift", self, other)

    def __rrshift__(self, other: object) -> Result:
        return self._apply("right_shift", other, self)

    def __and__(self, other: object) -> Result:
        return self._apply("bitwise_and", self, other)

    def __rand__(self, other: object) -> Result:
        return self._apply("bitwise_and", other, self)

    def __or__(self, other: object) -> Result:
        return self._apply("bitwise_or", self, other)

    def __ror__(self, other: object) -> Result:
        return self._apply("bitwise_or", other, self)

    def __xor__(self, other: object) -> Result:
        return self._apply("bitwise_xor", self, other)

    def __rxor__(self, other: object) -> Result:
        return self._apply("bitwise_xor", other, self)

    def __invert__(self) -> Result:
        return self._apply("bitwise_not", self)

    def __lt__(self, other: object) -> Result:
        return self._apply("less", self, other)

    def __le__(self, other: object) -> Result:
        return self._apply("less_equal", self, other)

    def __gt__(self, other: object) -> Result:
        return self._apply("greater", self, other)

    def __ge__(self, other: object) -> Result:
        return self._apply("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return self._apply("lazy_equal", self, other)

    def __ne__(self, other: object) -> Any:
        return self._apply("lazy_not_equal", self, other)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __bool__(self) -> bool:
        return self.__nonzero__()

    def __nonzero__(self) -> NoReturn:
        raise ValueError(
            "Cannot use and / or / not operator to Expr, hint: use tvm.tir.all / tvm.tir.any "
            "instead; the value of an expression is not known while the program is built"
        )

    def equal(self, other: object, span: Span | None = None) -> Result:
        """The comparison `self == other` as an expression."""
        return self._apply("equal", self, other, span)

    def astype(self, dtype: str, span: Span | None = None) -> Result:
        """This value cast to `dtype`."""
        return self._apply("astype", self, dtype, span)


hashed_by_identity(ExprOp)


@mypyc_attr(allow_interpreted_subclasses=True)
class BaseExpr(ExprOp):
    """The root of all expressions."""

    __slots__ = ("span",)
    TYPE_KEY = "ir.BaseExpr"
    span: Span | None


@mypyc_attr(allow_interpreted_subclasses=True)
class PrimExpr(BaseExpr):
    """An expression of plain values: numbers, vectors of numbers, addresses."""

    __slots__ = ("dtype",)
    TYPE_KEY = "ir.PrimExpr"
    dtype: DataType

    def accept(self, f: Any) -> Any:
        """Call the method of a functor that is made for this kind of node."""
        raise TypeError(f"{type(self).__name__} is abstract and cannot be visited")


@mypyc_attr(allow_interpreted_subclasses=True)
class PrimExprConvertible(ExprOp):
    """Something that stands for an expression: an iteration variable, a tensor."""

    __slots__ = ()
    TYPE_KEY = "ir.PrimExprConvertible"

    def as_prim_expr(self) -> PrimExpr:
        """The expression that this object stands for."""
        raise TypeError(f"a {type(self).__name__} stands for no single expression")

    def accept(self, f: Any) -> Any:
        """What a functor makes of the expression that this object stands for."""
        return self.as_prim_expr().accept(f)


# What is known of nodes that other dialects define, by type key; the rules stand above.
STRUCT_INFO_RULES: Final[Registry[Callable[[Any], StructInfo]]] = Registry(
    "struct info rule", "tvm.relax.prim_func_info"
)


@mypyc_attr(allow_interpreted_subclasses=True)
class RelaxExpr(BaseExpr):
    """An expression over tensors, shapes and tuples; its struct info is filled once known.

    Relay, the older language of graphs, fills `checked_type_` instead.
    """

    __slots__ = ("checked_type_", "struct_info_", "virtual_device_")
    TYPE_KEY = "ir.RelaxExpr"
    DIALECT: ClassVar[str] = "relax"
    struct_info_: StructInfo | None
    checked_type_: Any
    virtual_device_: Any

    @property
    def struct_info(self) -> StructInfo:
        """The struct info; a CheckError while it is not known."""
        if self.struct_info_ is None:
            rule = STRUCT_INFO_RULES.find(self.TYPE_KEY)
            if rule is not None:
                return rule(self)
            raise CheckError(
                f"the struct info of this {type(self).__name__} is not known yet; "
                "normalise it with a BlockBuilder first"
            )
        return self.struct_info_

    @property
    def checked_type(self) -> Type | None:
        """The type that Relay inferred; None in Relax, which keeps `struct_info`."""
        return getattr(self, "checked_type_", None)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __bool__(self) -> bool:
        return True


hashed_by_identity(RelaxExpr)

# Comparison by structure reads the words of this file; here it is found by name.
COMPARISONS: Final[Registry[Callable[..., Any]]] = Registry("comparison", "tvm.ir.structural")


@mypyc_attr(allow_interpreted_subclasses=True)
class StructInfo(Node):
    """What is known of a Relax expression at compile time: kind, shape, dtype.

    Two are equal when they say the same of the same variables.
    """

    __slots__ = ("span",)
    TYPE_KEY = "ir.StructInfo"
    span: Span | None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, StructInfo) and bool(COMPARISONS.get("equal")(self, other))

    def __hash__(self) -> int:
        return hash(COMPARISONS.get("hash")(self, True))  # within what a hash may be

    def is_base_of(self, derived: StructInfo) -> bool:
        """True when every value that `derived` describes is described by this too."""
        return bool(OPERATORS["relax"]["is_base_of"](self, derived))


@final
class GlobalVar(RelaxExpr):
    """The name of a function of a module."""

    __slots__ = ("name_hint",)
    TYPE_KEY = "ir.GlobalVar"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name_hint", "struct_info_~", "span~")
    __call__: ClassVar[Callable[..., object]]

    def __init__(
        self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        self.name_hint = of_type(name_hint, str, "GlobalVar: name_hint")
        self.struct_info_ = struct_info
        self.span = span

    def astext(self, show_meta_data: bool = True, annotate: object = None) -> str:
        """The name in Relay's text format, with the format's version."""
        return PRINTERS.get("relay")(self, {"show_meta_data": show_meta_data, "annotate": annotate})


def _call_global(var: GlobalVar, *args: object) -> object:
    """A call of this function, in the dialect of its arguments."""
    dialect = "tir" if all(_is_prim(arg) for arg in args) else "relax"
    if any(getattr(arg, "DIALECT", "") == "relay" for arg in args):
        dialect = "relay"
    call = OPERATORS[dialect].get("call_global")
    if call is None:  # a dialect that is not loaded, so none of its values is among them
        kinds = [type(arg) for arg in args]
        raise RuntimeError(f"Do not know how to handle GlobalVar.__call__ for types {kinds}")
    return call(var, *args)


called(GlobalVar, _call_global)


def _is_prim(arg: object) -> bool:
    return isinstance(arg, (PrimExpr, int, float))


@final
class _Extent:
    """Says that the second argument of a range is its length."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value: Final = value


@final
class Range(Node):
    """The integers from `min` up to, not including, `min + extent`.

    Two are equal when they have the same structure over the same variables.
    """

    __slots__ = ("extent", "min", "span")
    TYPE_KEY = "ir.Range"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("min", "extent", "span~")

    def __init__(
        self,
        begin: Any,
        end: Any = None,
        span: Span | None = None,
    ) -> None:
        convert = OPERATORS["tir"]["convert"]
        if isinstance(end, _Extent):
            low, extent = begin, end.value
        elif end is None:
            extent = convert(begin)
            low = OPERATORS["tir"]["zero_like"](extent)
        else:
            low = convert(begin)
            extent = OPERATORS["tir"]["range_extent"](low, convert(end))
        if extent.dtype.is_handle:  # type: ignore[attr-defined]
            raise TypeError(f"Range: a bound is {extent}; legal: integers")
        self.min: Final[PrimExpr] = low
        self.extent: Final[PrimExpr] = extent  # type: ignore[assignment]
        self.span = span

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is Range and bool(COMPARISONS.get("equal")(self, other))

    def __hash__(self) -> int:
        return hash(COMPARISONS.get("hash")(self, True))  # within what a hash may be

    @staticmethod
    def from_min_extent(
        min_value: Any, extent: Any, span: Span | None = None
    ) -> Range:
        """The range that starts at `min_value` and has `extent` elements."""
        convert = OPERATORS["tir"]["convert"]
        low, size = convert(min_value), convert(extent)
        # a plain number takes the type of the other side
        if isinstance(extent, int) and low.dtype is not size.dtype:  # type: ignore[attr-defined]
            size = OPERATORS["tir"]["astype"](size, low.dtype)  # type: ignore[attr-defined]
        elif isinstance(min_value, int) and low.dtype is not size.dtype:  # type: ignore[attr-defined]
            low = OPERATORS["tir"]["astype"](low, size.dtype)  # type: ignore[attr-defined]
        return Range(low, _Extent(size), span)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Range:
        """Fields are min and extent, while the constructor takes begin and end."""
        return Range.from_min_extent(values["min"], values["extent"], values.get("span"))  # type: ignore[arg-type]


register_nodes(GlobalVar, Range)
