"""Expressions of TensorIR: numbers, arithmetic, loads, calls.

Every class is final unless it says otherwise. Constructors check types and never fold; the operator
functions in `tir.op` (and so Python's `+`) match types and fold constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeGuard, TypeVar, cast, final

from tvm.error import CheckError, DomainTypeError, DTypeError, ShapeError
from tvm.error import div_ambiguity_error as div_ambiguity_error
from tvm.ir.expr import OPERATORS, GlobalVar, PrimExpr, PrimExprConvertible, Range
from tvm.ir.expr import ExprOp as ExprOp
from tvm.ir.node import Field, Node, all_of_type, fields, listed, number, of_type, register_nodes
from tvm.ir.op import Op, operator_of_tir
from tvm.ir.span import Span
from tvm.ir.type import PointerType, PrimType, Type
from tvm.support.compiled import Given, mypyc_attr
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray

from .access_rules import access_dtype, as_buffer, check_predicate
from .lazy_equal import EqualOp as EqualOp
from .lazy_equal import IntImmEnum as IntImmEnum
from .lazy_equal import NotEqualOp as NotEqualOp
from .scalar import FLOAT_LIMITS as FLOAT_LIMITS

if TYPE_CHECKING:
    import numpy

    from .buffer import Buffer, DataProducer
    from .functor import TirFunctor

E = TypeVar("E")
S = TypeVar("S")
ExprLike: TypeAlias = "PrimExpr | PrimExprConvertible | int | float | str | numpy.generic"

BOOL: Final = DataType("bool")
INT32: Final = DataType("int32")
INT64: Final = DataType("int64")
FLOAT32: Final = DataType("float32")
HANDLE: Final = DataType("handle")
VOID: Final = DataType("void")


@mypyc_attr(allow_interpreted_subclasses=True)
class PrimExprWithOp(PrimExpr):
    """The root of TIR expressions."""

    __slots__ = ()


class ConstExpr(PrimExprWithOp):
    """A literal."""

    __slots__ = ()


@final
class IntImm(ConstExpr):
    """An integer literal; also bool."""

    __slots__ = ("value",)
    TYPE_KEY = "ir.IntImm"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dtype", "value", "span~")

    def __init__(self, dtype: DataType | str, value: Given[int], span: Span | None = None) -> None:
        dtype = dtype if type(dtype) is DataType else DataType(dtype)
        value = value if type(value) is int else number(int, value, "IntImm: value")
        if not _fits(value, dtype):
            _reject_int(dtype, value)
        self.dtype = dtype
        self.value: Final = value
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_int_imm_(self)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __nonzero__(self) -> bool:  # type: ignore[override]
        return self.value != 0

    def __eq__(self, other: object) -> Any:
        return OPERATORS["tir"]["lazy_equal"](self, other)

    def __ne__(self, other: object) -> Any:
        return OPERATORS["tir"]["lazy_not_equal"](self, other)


def _fits(value: int, dtype: DataType) -> bool:
    if dtype is INT64 or dtype is INT32:
        limit = 0x8000000000000000 if dtype is INT64 else 0x80000000
        return -limit <= value < limit
    if dtype is BOOL:
        return value == 0 or value == 1
    if not dtype.is_scalar:
        return False
    if dtype.is_int:
        if dtype.bits == 1:
            return value == 0 or value == 1  # a truth value, as uint1
        limit = 1 << (dtype.bits - 1)
        return -limit <= value < limit
    if dtype.is_uint:
        return 0 <= value < (1 << dtype.bits)
    return dtype.is_custom


def _reject_int(dtype: DataType, value: int) -> None:
    if not dtype.is_scalar or not (dtype.is_integer or dtype.is_bool or dtype.is_custom):
        raise DTypeError(f"IntImm: the dtype is {dtype}; legal: a scalar int, uint or bool")
    end = "minimum" if value < 0 else "maximum"
    raise IntegerRangeError(f"IntImm: Literal value {value} exceeds {end} of {dtype}")


@mypyc_attr(native_class=False)
class IntegerRangeError(CheckError, ValueError, OverflowError):
    """An integer literal outside the range of its type."""


@final
class FloatImm(ConstExpr):
    """A floating literal, held with the precision of Python's float."""

    __slots__ = ("value",)
    TYPE_KEY = "ir.FloatImm"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dtype", "value", "span~")

    def __init__(self, dtype: str, value: Given[float], span: Span | None = None) -> None:
        dtype = DataType(dtype)
        value = value if type(value) is float else number(float, value, "FloatImm: value")
        if not dtype.is_scalar or not (dtype.is_floating or dtype.is_custom):
            raise DTypeError(f"FloatImm: the dtype is {dtype}; legal: a scalar floating type")
        limit = FLOAT_LIMITS.get(dtype)
        if limit is not None and abs(value) > limit and math.isfinite(value):
            end = f"minimum of {dtype}, -{limit}" if value < 0 else f"maximum of {dtype}, {limit}"
            raise IntegerRangeError(f"FloatImm: Literal value {value} exceeds {end}")
        self.dtype = dtype
        self.value: Final = value
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_float_imm_(self)

    def __float__(self) -> float:
        return self.value

    def __nonzero__(self) -> bool:  # type: ignore[override]
        return self.value != 0.0


@final
class StringImm(ConstExpr):
    """A string literal."""

    __slots__ = ("value",)
    TYPE_KEY = "tir.StringImm"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "span~")

    def __init__(self, value: Given[str], span: Span | None = None) -> None:
        self.value: Final = str(of_type(value, str, "StringImm: value"))
        self.dtype = HANDLE
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_string_imm_(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ConstExpr):
            return isinstance(other, StringImm) and self.value == other.value
        return self.value == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.value)


@mypyc_attr(allow_interpreted_subclasses=True)
class Var(PrimExprWithOp):
    """A variable, known by identity; the name is a hint. Only `SizeVar` is derived from it."""

    __slots__ = ("name", "type_annotation")
    TYPE_KEY = "tir.Var"
    EQUALITY = "var"
    # The dtype follows from the annotation; a difference is told by the plainer of the two.
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dtype", "name~", "type_annotation", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("name", "type_annotation", "span")

    def __init__(
        self, name: Given[str], dtype: DataType | str | Type = "int32", span: Span | None = None
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{type(self).__name__}: the name is of type {type(name).__name__}; "
                            "legal: str")
        annotation = dtype if isinstance(dtype, Type) else PrimType(dtype)
        self.name = str(name)
        self.type_annotation: Final = annotation
        self.dtype = dtype_of_type(annotation)
        self.span = span

    @property
    def name_hint(self) -> str:
        """The name, as older scripts call it."""
        return self.name

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_var_(self)

    def copy_with_name(self, name: str) -> Var:
        """A new variable of the same type."""
        return type(self)(name, self.type_annotation, self.span)

    def copy_with_suffix(self, suffix: str) -> Var:
        """A new variable of the same type, its name lengthened."""
        return self.copy_with_name(self.name + suffix)


@final
class SizeVar(Var):
    """A variable that is at least zero: a shape or a stride."""

    __slots__ = ()
    TYPE_KEY = "tir.SizeVar"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_size_var_(self)


def dtype_of_type(annotation: Type) -> DataType:
    """The data type of values of a type; handle for pointers."""
    if isinstance(annotation, PrimType):
        return annotation.dtype
    return HANDLE if isinstance(annotation, PointerType) else VOID


class IterVar(PrimExprConvertible):
    """A variable with the range it runs over and how: data parallel, reducing, a thread."""

    __slots__ = ("dom", "iter_type", "span", "thread_tag", "var")
    TYPE_KEY = "tir.IterVar"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dom", "var*", "iter_type", "thread_tag", "span~")

    DataPar: ClassVar[int] = 0
    ThreadIndex: ClassVar[int] = 1
    CommReduce: ClassVar[int] = 2
    Ordered: ClassVar[int] = 3
    DimInfo: ClassVar[int] = 4
    Opaque: ClassVar[int] = 4
    Unrolled: ClassVar[int] = 5
    Vectorized: ClassVar[int] = 6
    Parallelized: ClassVar[int] = 7
    Tensorized: ClassVar[int] = 8

    def __init__(
        self,
        dom: Range | Sequence[ExprLike] | None,
        var: Var | str | None,
        iter_type: Given[int] = 0,
        thread_tag: Given[str] = "",
        span: Span | None = None,
    ) -> None:
        if dom is not None and not isinstance(dom, Range):
            if not isinstance(dom, (list, tuple)) or len(dom) != 2:
                raise TypeError("IterVar: dom is a Range or a pair (begin, end)")
            dom = Range(dom[0], dom[1])
        if not isinstance(var, Var):
            name = "iter" if var is None else var
            var = Var(name, dom.extent.dtype if dom is not None else INT32)
        elif dom is not None and dom.extent.dtype is not var.dtype:
            found = f"variable {var.name} is {var.dtype}, its domain's extent is {dom.extent.dtype}"
            raise DomainTypeError(f"IterVar: {found}; legal: one type for both")
        self.dom: Final = dom
        self.var: Final = var
        self.iter_type: Final = number(int, iter_type, "IterVar: iter_type")
        if not IterVar.DataPar <= self.iter_type <= IterVar.Tensorized:
            raise IntegerRangeError(
                f"IterVar: iter_type is {iter_type}; legal: 0 (DataPar) ... 8 (Tensorized)"
            )
        self.thread_tag: Final = thread_tag
        self.span = span

    @property
    def dtype(self) -> DataType:
        """The data type of the variable."""
        return self.var.dtype

    def as_prim_expr(self) -> PrimExpr:
        return self.var


@final
class Cast(PrimExprWithOp):
    """The value converted to another type, lane by lane."""

    __slots__ = ("value",)
    TYPE_KEY = "tir.Cast"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dtype", "value", "span~")

    def __init__(self, dtype: DataType | str, value: ExprLike, span: Span | None = None) -> None:
        self.dtype = DataType(dtype)
        self.value: Final = as_expr(value)
        self.span = span
        source = self.value.dtype
        if (self.dtype.lanes, self.dtype.is_scalable) != (source.lanes, source.is_scalable):
            raise DTypeError(f"Cast: {self.value.dtype} to {self.dtype} changes the lanes")

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_cast_(self)


class BinaryOpExpr(PrimExprWithOp):
    """Arithmetic on two operands of one type, which is also the type of the result."""

    __slots__ = ("a", "b")
    FIELDS: ClassVar[tuple[Field, ...]] = fields("a", "b", "span~")

    def __init__(self, a: ExprLike, b: ExprLike, span: Span | None = None) -> None:
        x = a if isinstance(a, PrimExpr) else as_expr(a)
        y = b if isinstance(b, PrimExpr) else as_expr(b)
        if x.dtype is not y.dtype:
            _reject_types(self, x, y)
        self.a: Final = x
        self.b: Final = y
        self.dtype = x.dtype
        self.span = span


def _reject_types(node: object, a: PrimExpr, b: PrimExpr) -> None:
    raise DTypeError(
        f"{type(node).__name__}: mismatched types: {a.dtype} vs. {b.dtype}; "
        "legal: two operands of one type (the operator functions of tir match them)"
    )


@final
class Add(BinaryOpExpr):
    """a + b."""

    __slots__ = ()
    TYPE_KEY = "tir.Add"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_add_(self)


@final
class Sub(BinaryOpExpr):
    """a - b."""

    __slots__ = ()
    TYPE_KEY = "tir.Sub"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_sub_(self)


@final
class Mul(BinaryOpExpr):
    """a * b."""

    __slots__ = ()
    TYPE_KEY = "tir.Mul"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_mul_(self)


@final
class Div(BinaryOpExpr):
    """a / b: for integers rounded toward zero."""

    __slots__ = ()
    TYPE_KEY = "tir.Div"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_div_(self)


@final
class Mod(BinaryOpExpr):
    """The remainder of Div, with the sign of `a`."""

    __slots__ = ()
    TYPE_KEY = "tir.Mod"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_mod_(self)


@final
class FloorDiv(BinaryOpExpr):
    """a // b, rounded toward minus infinity."""

    __slots__ = ()
    TYPE_KEY = "tir.FloorDiv"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_floor_div_(self)


@final
class FloorMod(BinaryOpExpr):
    """The remainder of FloorDiv, with the sign of `b`."""

    __slots__ = ()
    TYPE_KEY = "tir.FloorMod"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_floor_mod_(self)


@final
class Min(BinaryOpExpr):
    """The smaller operand."""

    __slots__ = ()
    TYPE_KEY = "tir.Min"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_min_(self)


@final
class Max(BinaryOpExpr):
    """The larger operand."""

    __slots__ = ()
    TYPE_KEY = "tir.Max"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_max_(self)


class CmpExpr(PrimExprWithOp):
    """A comparison of two operands of one type; bool with as many lanes."""

    __slots__ = ("a", "b")
    FIELDS: ClassVar[tuple[Field, ...]] = fields("a", "b", "span~")

    def __init__(self, a: ExprLike, b: ExprLike, span: Span | None = None) -> None:
        x = a if isinstance(a, PrimExpr) else as_expr(a)
        y = b if isinstance(b, PrimExpr) else as_expr(b)
        if x.dtype is not y.dtype:
            _reject_types(self, x, y)
        self.a: Final = x
        self.b: Final = y
        self.dtype = BOOL if x.dtype.is_scalar else _bool_like(x.dtype)
        self.span = span


def _bool_like(dtype: DataType) -> DataType:
    return BOOL.with_lanes(dtype.lanes, dtype.is_scalable)


@final
class EQ(CmpExpr):
    """a == b."""

    __slots__ = ()
    TYPE_KEY = "tir.EQ"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_eq_(self)


@final
class NE(CmpExpr):
    """a != b."""

    __slots__ = ()
    TYPE_KEY = "tir.NE"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_ne_(self)


@final
class LT(CmpExpr):
    """a < b."""

    __slots__ = ()
    TYPE_KEY = "tir.LT"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_lt_(self)


@final
class LE(CmpExpr):
    """a <= b."""

    __slots__ = ()
    TYPE_KEY = "tir.LE"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_le_(self)


@final
class GT(CmpExpr):
    """a > b."""

    __slots__ = ()
    TYPE_KEY = "tir.GT"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_gt_(self)


@final
class GE(CmpExpr):
    """a >= b."""

    __slots__ = ()
    TYPE_KEY = "tir.GE"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_ge_(self)


class LogicalExpr(PrimExprWithOp):
    """Logic on bools."""

    __slots__ = ()


class _LogicalPair(LogicalExpr):
    """Logic on two bools."""

    __slots__ = ("a", "b")
    FIELDS: ClassVar[tuple[Field, ...]] = fields("a", "b", "span~")

    def __init__(self, a: ExprLike, b: ExprLike, span: Span | None = None) -> None:
        x, y = as_expr(a), as_expr(b)
        if not (x.dtype.is_bool and y.dtype.is_bool):
            raise DTypeError(
                f"{type(self).__name__}: the operands are {x.dtype} and {y.dtype}; legal: bool"
            )
        if x.dtype is not y.dtype:
            _reject_types(self, x, y)
        self.a: Final = x
        self.b: Final = y
        self.dtype = x.dtype
        self.span = span


@final
class And(_LogicalPair):
    """a and b; b is looked at only where a is true."""

    __slots__ = ()
    TYPE_KEY = "tir.And"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_and_(self)


@final
class Or(_LogicalPair):
    """a or b; b is looked at only where a is false."""

    __slots__ = ()
    TYPE_KEY = "tir.Or"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_or_(self)


@final
class Not(LogicalExpr):
    """not a."""

    __slots__ = ("a",)
    TYPE_KEY = "tir.Not"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("a", "span~")

    def __init__(self, a: ExprLike, span: Span | None = None) -> None:
        self.a: Final = as_expr(a)
        if not self.a.dtype.is_bool:
            raise DTypeError(f"Not: the operand is {self.a.dtype}; legal: bool")
        self.dtype = self.a.dtype
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_not_(self)


@final
class Select(PrimExprWithOp):
    """One of two values; both are evaluated. `tir.if_then_else` evaluates only one."""

    __slots__ = ("condition", "false_value", "true_value")
    TYPE_KEY = "tir.Select"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("condition", "true_value", "false_value", "span~")

    def __init__(
        self,
        condition: ExprLike,
        true_value: ExprLike,
        false_value: ExprLike,
        span: Span | None = None,
    ) -> None:
        self.condition: Final = as_expr(condition)
        self.true_value: Final = as_expr(true_value)
        self.false_value: Final = as_expr(false_value)
        self.dtype = self.true_value.dtype
        self.span = span
        if not self.condition.dtype.is_bool:
            raise DTypeError(f"Select: the condition is {self.condition.dtype}; legal: bool")
        if self.true_value.dtype is not self.false_value.dtype:
            _reject_types(self, self.true_value, self.false_value)
        lanes = self.condition.dtype.lanes
        if lanes not in (1, self.dtype.lanes):
            raise DTypeError(f"Select: {lanes} conditions choose between values of {self.dtype}")

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_select_(self)


@final
class BufferLoad(PrimExprWithOp):
    """buffer[indices]; a vector as the last index reads several elements."""

    __slots__ = ("buffer", "indices", "predicate")
    TYPE_KEY = "tir.BufferLoad"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("buffer", "indices", "predicate", "span~")

    def __init__(
        self,
        buffer: Any,
        indices: Sequence[ExprLike],
        predicate: ExprLike | None = None,
        span: Span | None = None,
    ) -> None:
        known = hasattr(buffer, "axis_separators")
        self.buffer: Final[Buffer] = buffer if known else as_buffer(buffer, "BufferLoad")
        given = indices if type(indices) is tuple else listed(indices, "BufferLoad: indices")
        self.indices: Final = tuple([i if isinstance(i, PrimExpr) else as_expr(i) for i in given])
        self.predicate: Final = None if predicate is None else as_expr(predicate)
        self.dtype = access_dtype(self.buffer, self.indices)
        if self.predicate is not None:
            last = self.indices[-1].dtype if self.indices else INT32
            check_predicate(self.predicate.dtype, last, "load indices", "load a vector")
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_buffer_load_(self)


@final
class ProducerLoad(PrimExprWithOp):
    """An element of a tensor that a `te` operation produces."""

    __slots__ = ("indices", "producer")
    TYPE_KEY = "tir.ProducerLoad"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("producer", "indices", "span~")

    def __init__(
        self, producer: DataProducer, indices: Sequence[ExprLike], span: Span | None = None
    ) -> None:
        if not hasattr(producer, "get_dtype"):
            raise TypeError(
                f"ProducerLoad: the producer is a {type(producer).__name__}; legal: a tensor of te"
            )
        self.producer: Final = producer
        self.indices: Final = _exprs(indices, "ProducerLoad: the indices")
        self.dtype = producer.get_dtype()
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_producer_load_(self)


@final
class Ramp(PrimExprWithOp):
    """The vector base, base + stride, base + 2 * stride, ..."""

    __slots__ = ("base", "lanes", "stride")
    TYPE_KEY = "tir.Ramp"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("base", "stride", "lanes", "span~")

    def __init__(
        self, base: ExprLike, stride: ExprLike, lanes: ExprLike, span: Span | None = None
    ) -> None:
        self.base: Final = as_expr(base)
        step = as_expr(stride)
        if step.dtype is not self.base.dtype:
            step = OPERATORS["tir"]["astype"](step, self.base.dtype)  # type: ignore[assignment]
        self.stride: Final = step
        self.lanes: Final = _lanes(as_expr(lanes))
        if not self.base.dtype.is_scalar:
            raise DTypeError(f"Ramp: the base is {self.base.dtype}; legal: a scalar")
        self.dtype = vector_dtype(self.base.dtype, self.lanes, "Ramp")
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_ramp_(self)


@final
class Broadcast(PrimExprWithOp):
    """The vector value, value, value, ..."""

    __slots__ = ("lanes", "value")
    TYPE_KEY = "tir.Broadcast"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "lanes", "span~")

    def __init__(self, value: ExprLike, lanes: ExprLike, span: Span | None = None) -> None:
        self.value: Final = as_expr(value)
        self.lanes: Final = _lanes(as_expr(lanes))
        if not self.value.dtype.is_scalar:
            raise DTypeError(f"Broadcast: the value is {self.value.dtype}; legal: a scalar")
        self.dtype = vector_dtype(self.value.dtype, self.lanes, "Broadcast")
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_broadcast_(self)


def _lanes(lanes: PrimExpr) -> PrimExpr:
    """The number of lanes: an int32 literal, or for scalable vectors vscale * literal."""
    if isinstance(lanes, IntImm) and lanes.dtype is not INT32:
        return IntImm(INT32, lanes.value, lanes.span)
    if isinstance(lanes, Mul) and isinstance(lanes.a, IntImm):
        return Mul(lanes.b, lanes.a, lanes.span)
    return lanes


def vector_dtype(element: DataType, lanes: PrimExpr, asked: str) -> DataType:
    """The vector type with `lanes` lanes: a literal, or a literal times `tir.vscale()`."""
    if isinstance(lanes, IntImm):
        if lanes.value < 2:
            raise DTypeError(f"{asked}: lanes > 1 is wanted, found {lanes.value}")
        return element.with_lanes(lanes.value)
    factor = vscale_factor(lanes)
    if factor is None:
        raise DTypeError(
            f"{asked}: the lanes are neither a literal nor a multiple of vscale: {lanes}"
        )
    return element.with_lanes(factor, scalable=True)


def vscale_factor(lanes: PrimExpr) -> int | None:
    """n of `vscale * n`, or None."""
    if is_call_of(lanes, "tir.vscale"):
        return 1
    if isinstance(lanes, Mul):
        for one, other in ((lanes.a, lanes.b), (lanes.b, lanes.a)):
            if isinstance(one, IntImm) and vscale_factor(other) == 1:
                return one.value
    return None


@final
class Shuffle(PrimExprWithOp):
    """Lanes picked by number from the concatenation of `vectors`."""

    __slots__ = ("indices", "vectors")
    TYPE_KEY = "tir.Shuffle"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("vectors", "indices", "span~")

    def __init__(
        self, vectors: Sequence[ExprLike], indices: Sequence[ExprLike], span: Span | None = None
    ) -> None:
        self.vectors: Final = _exprs(vectors, "Shuffle: vectors")
        self.indices: Final = _exprs(indices, "Shuffle: indices")
        if not self.vectors or not self.indices:
            raise DTypeError("Shuffle: at least one vector and one index are needed")
        element = self.vectors[0].dtype.element_of()
        if any(v.dtype.element_of() is not element for v in self.vectors):
            raise DTypeError("Shuffle: the vectors have different element types")
        self.dtype = element.with_lanes(len(self.indices))
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_shuffle_(self)


class CallEffectKind:
    """What a call may do to the world (operator attribute TCallEffectKind)."""

    ExprAnnotation: ClassVar[int] = 0
    Pure: ClassVar[int] = 1
    ReadState: ClassVar[int] = 2
    UpdateState: ClassVar[int] = 3
    SpecialCallArg: ClassVar[int] = 4
    EmbedInfo: ClassVar[int] = 5
    ControlJump: ClassVar[int] = 6
    Opaque: ClassVar[int] = 3


@final
class Call(PrimExprWithOp):
    """A call of an operator, or of a function of the module by its global variable."""

    __slots__ = ("args", "op")
    TYPE_KEY = "tir.Call"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dtype", "op", "args", "span~")

    def __init__(
        self,
        dtype: DataType | str,
        op: Op | GlobalVar | str,
        args: Sequence[Any],
        span: Span | None = None,
    ) -> None:
        self.dtype = DataType(dtype)
        called = operator_of_tir(op) if isinstance(op, str) else op
        if not isinstance(called, (Op, GlobalVar)):
            raise TypeError(f"Call: op is a {type(op).__name__}: {op!r}; legal: Op, GlobalVar, str")
        if not isinstance(args, Iterable) or isinstance(args, str):
            raise TypeError(f"Call: args are a {type(args).__name__}; legal: a list of expressions")
        self.op: Final[Op | GlobalVar] = called
        self.args: Final[tuple[Any, ...]] = FrozenArray(
            [a if isinstance(a, PrimExpr) else _as_call_arg(a) for a in args]
        )
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_call_(self)


def op_name(expr: object) -> str:
    """The name of the operator that an expression calls; "" for anything else."""
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def is_call_of(expr: object, *names: str) -> TypeGuard[Call]:
    """Whether an expression is a call of an operator by one of these names."""
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names


def _as_call_arg(value: Any) -> Any:
    """Calls take plain expressions, and the module's own functions as values."""
    return value if isinstance(value, GlobalVar) else as_expr(value)


@final
class Let(PrimExprWithOp):
    """The body with a name for a value."""

    __slots__ = ("body", "value", "var")
    TYPE_KEY = "tir.Let"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("var*", "value", "body", "span~")

    def __init__(self, var: Var, value: ExprLike, body: ExprLike, span: Span | None = None) -> None:
        self.var: Final = of_type(var, Var, "Let: var")
        self.value: Final = as_expr(value)
        self.body: Final = as_expr(body)
        self.dtype = self.body.dtype
        self.span = span
        if self.value.dtype is not var.dtype:
            raise DTypeError(
                f"Let: variable {var.name} is {var.dtype}, its value is {self.value.dtype}"
            )

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_let_(self)


@final
class CommReducer(Node):
    """How two partial results are combined, and what nothing reduces to."""

    __slots__ = ("identity_element", "lhs", "result", "rhs", "span")
    TYPE_KEY = "tir.CommReducer"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "lhs*", "rhs*", "result", "identity_element", "span~"
    )

    def __init__(
        self,
        lhs: Sequence[Var],
        rhs: Sequence[Var],
        result: Sequence[ExprLike],
        identity_element: Sequence[ExprLike],
        span: Span | None = None,
    ) -> None:
        self.lhs: Final[tuple[Var, ...]] = tuple(all_of_type(lhs, Var, "CommReducer: lhs"))
        self.rhs: Final[tuple[Var, ...]] = tuple(all_of_type(rhs, Var, "CommReducer: rhs"))
        self.result: Final = _exprs(result, "CommReducer: result")
        self.identity_element: Final = _exprs(identity_element, "CommReducer: identity_element")
        self.span = span
        counts = [len(x) for x in (self.lhs, self.rhs, self.result, self.identity_element)]
        if min(counts) != max(counts):
            found = "{} left, {} right operands, {} results, {} identities".format(*counts)
            raise ShapeError(f"CommReducer: {found}; legal: as many of each")


@final
class Reduce(PrimExprWithOp):
    """One value of a reduction of `source` over `axis`; only `te` programs hold it."""

    __slots__ = ("axis", "combiner", "condition", "init", "source", "value_index")
    TYPE_KEY = "tir.Reduce"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "combiner", "axis", "source", "init", "condition", "value_index", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = (
        "combiner", "source", "axis", "condition", "value_index", "init", "span",
    )  # fmt: skip

    def __init__(
        self,
        combiner: CommReducer | None,
        src: Sequence[ExprLike],
        rdom: Sequence[IterVar],
        condition: ExprLike | None,
        value_index: Given[int],
        init: Sequence[ExprLike] | None = None,
        span: Span | None = None,
    ) -> None:
        # without a combiner it is a shape to compare with; no pass meets one
        self.combiner: Final = cast("CommReducer", combiner)
        self.source: Final = _exprs(src, "Reduce: src")
        self.axis: Final[tuple[IterVar, ...]] = tuple(all_of_type(rdom, IterVar, "Reduce: rdom"))
        self.condition: Final = as_expr(True if condition is None else condition)
        self.value_index: Final = int(value_index)
        if not 0 <= self.value_index < len(self.source):
            raise CheckError(
                f"Reduce: value_index {value_index} of {len(self.source)} values; "
                "legal: the number of a value in src"
            )
        self.init: Final = tuple([as_expr(e) for e in init or ()])
        self.dtype = self.source[self.value_index].dtype
        self.span = span
        wrong = [iv.var.name for iv in self.axis if iv.iter_type != IterVar.CommReduce]
        if wrong:
            raise CheckError(
                f"Reduce: axis {wrong[0]} is no reduction axis; legal: te.reduce_axis(...)"
            )

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_reduce_(self)


def _exprs(values: Sequence[ExprLike], what: str) -> tuple[PrimExpr, ...]:
    return tuple([as_expr(value) for value in listed(values, what)])


def as_expr(value: Any) -> PrimExpr:
    """`value` as an expression: numbers become literals, stand-ins what they stand for."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, bool):
        return IntImm(BOOL, value)
    if isinstance(value, int):
        return IntImm(INT32 if -0x80000000 <= value <= 0x7FFFFFFF else INT64, value)
    if isinstance(value, float):
        return FloatImm(FLOAT32, float(value))
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, PrimExprConvertible):
        return value.as_prim_expr()
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return as_expr(value.item())  # a numpy scalar is a number like those of Python
    raise TypeError(
        f"cannot convert a {type(value).__name__} to an expression: {value!r}; "
        "legal: PrimExpr, int, float, bool, str, IterVar, a buffer access, a tensor access"
    )


def convert(expr: Any) -> Any:
    """`expr` as an expression; a list or tuple becomes a list of expressions."""
    return [convert(e) for e in expr] if isinstance(expr, (list, tuple)) else as_expr(expr)


def make_const(value: Given[float], dtype: DataType, span: Span | None = None) -> PrimExpr:
    """A literal of the given type; of a vector type, a broadcast of it."""
    if not dtype.is_scalar:
        element = make_const(value, dtype.element_of(), span)
        lanes: PrimExpr = IntImm(INT32, dtype.lanes)
        if dtype.is_scalable:
            lanes = Mul(Call(INT32, "tir.vscale", ()), lanes)
        return Broadcast(element, lanes, span)
    if dtype.is_integer or dtype.is_bool:
        return IntImm(dtype, int(value), span)
    if dtype.is_handle:  # a null pointer, or an address known while compiling
        return Call(dtype, "tir.reinterpret", [IntImm(DataType("uint64"), int(value))], span)
    return FloatImm(dtype, float(value), span)


register_nodes(
    IntImm, FloatImm, StringImm, Var, SizeVar, IterVar, Cast, Add, Sub, Mul, Div, Mod, FloorDiv,
    FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or, Not, Select, BufferLoad, ProducerLoad,
    Ramp, Broadcast, Shuffle, Call, Let, CommReducer, Reduce,
)  # fmt: skip
