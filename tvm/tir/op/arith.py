"""Arithmetic, comparison and logic on expressions: types are matched, constants are folded.

These functions are what Python's operators mean. Node constructors check and never fold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.error import CheckError, DTypeError
from tvm.ir.expr import OPERATORS, PrimExpr
from tvm.ir.span import Span
from tvm.support.compiled import Given, mypyc_attr
from tvm.support.dtype import DataType
from tvm.support.registry import Registry
from tvm.tir import expr as e
from tvm.tir import scalar
from tvm.tir.expr import BOOL, INT32, INT64, FloatImm, IntImm, as_expr, make_const
from tvm.tir.expr import div_ambiguity_error as div_ambiguity_error
from tvm.tir.lazy_equal import EqualOp, NotEqualOp

Operand = Any  # anything that as_expr takes

_LARGEST_FLOAT32: Final = 3.4028234663852886e38

# The analyzer lives a floor above; it is found by name when a slice or a layout asks for it.
SIMPLIFIERS: Final[Registry[Callable[[PrimExpr], PrimExpr]]] = Registry("simplifier", "tvm.arith")


def const(value: Any, dtype: Any = None, span: Span | None = None) -> PrimExpr:
    """A literal; the type follows from the Python value unless it is given."""
    if isinstance(value, PrimExpr):
        return value if dtype is None else cast(value, dtype, span)
    if dtype is None and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        dtype = value.dtype  # here alone a numpy scalar keeps its type
    if dtype is None:
        if value is None or isinstance(value, (str, list, tuple, dict)):
            raise UnknownLiteralError(
                "tir.const: Cannot automatically inference the type. "
                f"value={value!r}; legal: a number, or tir.StringImm"
            )
        if type(value) is float and not abs(value) <= _LARGEST_FLOAT32:
            return make_const(value, DataType("float64"), span)
        literal = as_expr(value)
        return make_const(literal.value, literal.dtype, span)  # type: ignore[attr-defined]
    if hasattr(value, "item") and getattr(value, "shape", ()) == ():
        value = value.item()
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"tir.const: the value is a {type(value).__name__}: {value!r}; legal: a number"
        )
    if DataType(dtype).is_handle:
        raise DTypeError(f"cannot make const for type {dtype}; legal: tir.reinterpret(..)")
    return make_const(value, DataType(dtype), span)


@mypyc_attr(native_class=False)
class UnknownLiteralError(NotImplementedError, TypeError):
    """A literal of something that is no number."""


def literal(expr: PrimExpr) -> Given[float] | None:
    """The value of a literal, or of a broadcast literal; None for anything else."""
    if isinstance(expr, (IntImm, FloatImm)):
        return expr.value
    if isinstance(expr, e.Broadcast):
        return literal(expr.value)
    return None


def is_const_value(expr: PrimExpr, value: Given[float]) -> bool:
    """True for a literal with this value."""
    return isinstance(expr, (IntImm, FloatImm)) and expr.value == value


def is_zero(expr: PrimExpr) -> bool:
    """True for a literal zero."""
    return is_const_value(expr, 0)


def is_one(expr: PrimExpr) -> bool:
    """True for a literal one."""
    return is_const_value(expr, 1)


def cast(src: Operand, dtype: Any, span: Span | None = None) -> PrimExpr:
    """`src` converted to `dtype`; literals are converted at once, a scalar becomes a vector."""
    value, target = as_expr(src), DataType(dtype)
    source = value.dtype
    if source is target:
        return value
    if target.is_handle and source.is_handle:
        return value
    if source.is_handle:
        raise DTypeError(
            f"Can't cast a handle to other types, such as {target}; legal: reinterpret"
        )
    if source.is_scalar and target.is_vector:
        element = cast(value, target.element_of(), span)
        return broadcast_to(element, target, span)
    if isinstance(value, (IntImm, FloatImm)) and not (target.is_custom or source.is_custom):
        folded = scalar.cast(value.value, source, target)
        if folded is not None:
            return make_const(folded, target, span)
    lane = target.element_of()
    if isinstance(value, e.Broadcast):
        return e.Broadcast(cast(value.value, lane, span), value.lanes, span)
    if isinstance(value, e.Ramp) and target.is_integer and source.lanes == target.lanes:
        base, stride = cast(value.base, lane, span), cast(value.stride, lane, span)
        return e.Ramp(base, stride, value.lanes, span)
    return e.Cast(target, value, span)


def broadcast_to(value: PrimExpr, like: DataType, span: Span | None = None) -> PrimExpr:
    """A scalar repeated for the lanes of a vector type."""
    lanes: PrimExpr = IntImm(INT32, like.lanes)
    if like.is_scalable:
        lanes = e.Mul(e.Call(INT32, "tir.vscale", ()), lanes)
    return e.Broadcast(value, lanes, span)


def match_types(lhs: Operand, rhs: Operand, span: Span | None = None) -> tuple[PrimExpr, PrimExpr]:
    """Both operands in one type.

    A scalar is repeated for a vector; integers are widened; an integer beside a float becomes a
    float; of two floats the wider wins; int beside uint of one width becomes uint.
    """
    if type(rhs) is int and isinstance(lhs, PrimExpr) and lhs.dtype is INT64:
        return lhs, IntImm(INT64, rhs)  # most numbers meet indices
    a, b = as_expr(lhs), as_expr(rhs)
    if a.dtype is b.dtype:
        return a, b
    if a.dtype.is_scalar and b.dtype.is_vector:
        a = broadcast_to(a, b.dtype, span)
    elif b.dtype.is_scalar and a.dtype.is_vector:
        b = broadcast_to(b, a.dtype, span)
    x, y = a.dtype, b.dtype
    if x.lanes != y.lanes or x.is_scalable != y.is_scalable:
        raise DTypeError(f"Cannot match type {x} vs {y}: the lanes differ")
    if x is y:
        return a, b
    common = _common_type(x, y)
    if common.is_uint:
        _refuse_negative(a)
        _refuse_negative(b)
    return cast(a, common, span), cast(b, common, span)


def _refuse_negative(expr: PrimExpr) -> None:
    """A literal below zero beside an unsigned operand would count as a huge one."""
    value = literal(expr)
    if value is not None and value < 0:
        raise e.IntegerRangeError(
            f"cannot make uint from negative value {value}; legal: cast one of the operands"
        )


def _common_type(x: DataType, y: DataType) -> DataType:
    if x.is_custom or y.is_custom:
        return x if x.is_custom else y
    if x.is_floating and y.is_floating:
        if x.bits == y.bits:
            if x.is_float != y.is_float:
                return x if x.is_float else y
            raise DTypeError(f"Cannot match type {x} vs {y}: cast one of them")
        return x if x.bits > y.bits else y
    if x.is_floating or y.is_floating:
        floating, other = (x, y) if x.is_floating else (y, x)
        if not (other.is_integer or other.is_bool):
            raise DTypeError(f"Cannot match type {x} vs {y}")
        return floating
    if x.is_bool and y.is_integer:
        return y
    if y.is_bool and x.is_integer:
        return x
    if x.is_integer and y.is_integer:
        if x.bits == y.bits:
            return x if x.is_uint else y
        return x if x.bits > y.bits else y
    raise DTypeError(f"Cannot match type {x} vs {y}")


def _fold(op: str, a: PrimExpr, b: PrimExpr, result: DataType) -> PrimExpr | None:
    """The literal `a op b`, where both are literals and the result has a meaning."""
    if not isinstance(a, (IntImm, FloatImm)) or not isinstance(b, (IntImm, FloatImm)):
        return None
    if a.dtype.is_custom or not _is_folded(op, a.dtype):
        return None
    value = scalar.binary(op, a.value, b.value, a.dtype)
    return None if value is None else make_const(value, result)


def _is_folded(op: str, dtype: DataType) -> bool:
    """Remainders and bits of indices only, sums and products of floats from 32 bits on."""
    if op in ("add", "sub", "mul", "div"):
        return not dtype.is_floating or dtype.bits >= 32
    if op in ("mod", "floormod") or op.startswith(("bitwise_", "shift_")):
        return is_index_type(dtype)
    return True


def is_index_type(dtype: DataType) -> bool:
    """int32 and wider: what bounds and positions are counted in."""
    return dtype.is_int and dtype.bits >= 32 and dtype.is_scalar


def add(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs + rhs; a pointer plus an integer is the pointer moved by that many elements."""
    a, b = match_types(lhs, rhs, span)
    folded = _fold("add", a, b, a.dtype)
    if folded is not None:
        return folded
    if is_zero(a):
        return b
    return a if is_zero(b) else e.Add(a, b, span)


def subtract(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs - rhs."""
    a, b = match_types(lhs, rhs, span)
    folded = _fold("sub", a, b, a.dtype)
    if folded is not None:
        return folded
    return a if is_zero(b) else e.Sub(a, b, span)


def multiply(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs * rhs."""
    a, b = match_types(lhs, rhs, span)
    folded = _fold("mul", a, b, a.dtype)
    if folded is not None:
        return folded
    if a.dtype.is_integer or a.dtype.is_bool:
        for one, other in ((a, b), (b, a)):
            if is_one(one):
                return other
            if is_zero(one):
                return one
    elif is_one(b):  # exact for every float
        return a
    elif is_one(a):
        return b
    return e.Mul(a, b, span)


def _refuse_zero(op: str, b: PrimExpr) -> None:
    if b.dtype.is_integer and is_zero(b):
        raise DivisionByZeroError(f"Divide by zero: the divisor of {op} is the literal 0")


@mypyc_attr(native_class=False)
class DivisionByZeroError(CheckError, ZeroDivisionError):
    """An integer division whose divisor is the literal zero."""


def _division(
    name: str, node: type[e.BinaryOpExpr]
) -> Callable[[Operand, Operand, Span | None], PrimExpr]:
    quotient = name in ("div", "floordiv")

    def divide_by(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
        a, b = match_types(lhs, rhs, span)
        real = name == "div" and (a.dtype.is_floating or a.dtype.is_custom)
        if a.dtype.is_bool or not (a.dtype.is_integer or real):
            raise DTypeError(f"{name}: the operands are {a.dtype}; legal: integers")
        _refuse_zero(name, b)
        folded = _fold(name, a, b, a.dtype)
        if folded is not None:
            return folded
        if quotient or is_index_type(a.dtype):
            if is_one(b):
                return a if quotient else make_const(0, a.dtype)
            if a.dtype.is_integer and is_zero(a):
                return a
        return node(a, b, span)

    return divide_by


_truncdiv: Final = _division("div", e.Div)
_truncmod: Final = _division("mod", e.Mod)
_floordiv: Final = _division("floordiv", e.FloorDiv)
_floormod: Final = _division("floormod", e.FloorMod)


def div(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """a / b as C does it: integers are rounded toward zero."""
    return _truncdiv(a, b, span)


def truncdiv(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """Integer a / b rounded toward zero."""
    return _truncdiv(a, b, span)


def truncmod(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """The remainder of truncdiv, with the sign of `a`."""
    return _truncmod(a, b, span)


def floordiv(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """Integer a / b rounded toward minus infinity; floats: the floor of the quotient."""
    x, y = match_types(a, b, span)
    if x.dtype.is_floating:
        from .math import floor  # the float case is built on a math operator

        return floor(divide(x, y, span))
    return _floordiv(x, y, span)


def floormod(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """The remainder of floordiv, with the sign of `b`."""
    x, y = match_types(a, b, span)
    if x.dtype.is_floating:
        return subtract(x, multiply(floordiv(x, y, span), y, span), span)
    return _floormod(x, y, span)


def indexdiv(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """Division of index values, both known to be at least zero."""
    return _floordiv(a, b, span)


def indexmod(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """Remainder of index values, both known to be at least zero."""
    return _floormod(a, b, span)


def ceildiv(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """Integer lhs / rhs rounded toward plus infinity."""
    a, b = match_types(lhs, rhs, span)
    return _floordiv(subtract(add(a, b, span), make_const(1, b.dtype), span), b, span)


def divide(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs / rhs of floats; for two signed integers a RuntimeError that names the choices.

    Of unsigned ones the quotient is rounded down, whichever is meant.
    """
    a, b = as_expr(lhs), as_expr(rhs)
    if (a.dtype.is_int or lhs is True or lhs is False) and (
        b.dtype.is_int or rhs is True or rhs is False
    ):
        raise div_ambiguity_error()
    return _truncdiv(*match_types(a, b, span), span)


def _extremum(name: str, node: type[e.BinaryOpExpr]) -> Callable[..., PrimExpr]:
    def extremum(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
        a, b = match_types(lhs, rhs, span)
        if a is b:
            return a
        folded = _fold(name, a, b, a.dtype)
        return node(a, b, span) if folded is None else folded

    return extremum


min_of: Final[Callable[..., PrimExpr]] = _extremum("min", e.Min)
max_of: Final[Callable[..., PrimExpr]] = _extremum("max", e.Max)


def _comparison(name: str, node: type[e.CmpExpr]) -> Callable[..., PrimExpr]:
    def compare(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
        a, b = match_types(lhs, rhs, span)
        folded = _fold(name, a, b, BOOL)
        return node(a, b, span) if folded is None else folded

    return compare


_equal: Final = _comparison("eq", e.EQ)


def equal(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """Whether both are the same; of one unknown multiple of lanes and itself that is known."""
    if e.is_call_of(lhs, "tir.vscale") and e.is_call_of(rhs, "tir.vscale"):
        return IntImm(BOOL, 1, span)
    return _equal(lhs, rhs, span)


not_equal: Final = _comparison("ne", e.NE)
less: Final = _comparison("lt", e.LT)
less_equal: Final = _comparison("le", e.LE)
greater: Final = _comparison("gt", e.GT)
greater_equal: Final = _comparison("ge", e.GE)


def logical_and(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """Both hold; a literal operand decides or disappears."""
    a, b = _bool_pair(lhs, rhs, span)
    for one, other in ((a, b), (b, a)):
        known = literal(one)
        if known is not None:
            return other if known else one
    return e.And(a, b, span)


def logical_or(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """At least one holds; a literal operand decides or disappears."""
    a, b = _bool_pair(lhs, rhs, span)
    for one, other in ((a, b), (b, a)):
        known = literal(one)
        if known is not None:
            return one if known else other
    return e.Or(a, b, span)


def _bool_pair(lhs: Operand, rhs: Operand, span: Span | None) -> tuple[PrimExpr, PrimExpr]:
    a, b = as_expr(lhs), as_expr(rhs)
    if not (a.dtype.is_bool and b.dtype.is_bool):
        raise DTypeError(f"logical operation on {a.dtype} and {b.dtype}; legal: bool")
    return match_types(a, b, span)


def logical_not(a: Operand, span: Span | None = None) -> PrimExpr:
    """It does not hold."""
    value = as_expr(a)
    if not value.dtype.is_bool:
        raise DTypeError(f"logical not of {value.dtype}; legal: bool")
    if isinstance(value, IntImm):
        return IntImm(BOOL, not value.value, span)
    return e.Not(value, span)


def negative(a: Operand, span: Span | None = None) -> PrimExpr:
    """-a."""
    value = as_expr(a)
    if isinstance(value, IntImm):
        return make_const(scalar.wrap(-value.value, value.dtype), value.dtype, span)
    if isinstance(value, FloatImm):
        return FloatImm(value.dtype, -value.value, span)
    # minus one times: exact for floats too, where 0 - x would lose the sign of zero
    return multiply(value, make_const(-1, value.dtype), span)


def bitwise_call(name: str, lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """A call of a bitwise operator on integers, folded for literals."""
    a, b = _match_bits(lhs, rhs, span)
    if not (a.dtype.is_integer or a.dtype.is_bool):
        raise DTypeError(f"{name}: the operands are {a.dtype}; legal: integers")
    folded = _fold(name, a, b, a.dtype)
    return e.Call(a.dtype, f"tir.{name}", (a, b), span) if folded is None else folded


def _match_bits(lhs: Operand, rhs: Operand, span: Span | None) -> tuple[PrimExpr, PrimExpr]:
    """As `match_types`; a plain number has the other side's type, whose bits are worked on."""
    if type(rhs) is int and not isinstance(lhs, (int, float)):
        a = as_expr(lhs)
        return a, make_const(rhs, a.dtype, span)
    if type(lhs) is int and not isinstance(rhs, (int, float)):
        b = as_expr(rhs)
        return make_const(lhs, b.dtype, span), b
    return match_types(lhs, rhs, span)


def bitwise_and(x: Operand, y: Operand, span: Span | None = None) -> PrimExpr:
    """x & y."""
    return bitwise_call("bitwise_and", x, y, span)


def bitwise_or(x: Operand, y: Operand, span: Span | None = None) -> PrimExpr:
    """x | y."""
    return bitwise_call("bitwise_or", x, y, span)


def bitwise_xor(x: Operand, y: Operand, span: Span | None = None) -> PrimExpr:
    """x ^ y."""
    return bitwise_call("bitwise_xor", x, y, span)


def bitwise_not(x: Operand, span: Span | None = None) -> PrimExpr:
    """~x."""
    value = as_expr(x)
    if not (value.dtype.is_integer or value.dtype.is_bool):
        raise DTypeError(f"bitwise_not: the operand is {value.dtype}; legal: integers")
    return e.Call(value.dtype, "tir.bitwise_not", (value,), span)


def shift_left(x: Operand, y: Operand, span: Span | None = None) -> PrimExpr:
    """x << y, for 0 <= y < width."""
    return _shift("shift_left", x, y, span)


def shift_right(x: Operand, y: Operand, span: Span | None = None) -> PrimExpr:
    """x >> y, for 0 <= y < width; keeps the sign of signed integers."""
    return _shift("shift_right", x, y, span)


def _shift(name: str, x: Operand, y: Operand, span: Span | None) -> PrimExpr:
    a, b = _match_bits(x, y, span)
    if isinstance(b, IntImm):
        if not 0 <= b.value < a.dtype.bits:
            raise DTypeError(
                f"{name}: Shift amount must be non-negative and less than {a.dtype.bits} "
                f"for type {a.dtype}, found {b.value}"
            )
        if b.value == 0 and is_index_type(a.dtype):
            return a
    return bitwise_call(name, a, b, span)


def all(*args: Operand, span: Span | None = None) -> PrimExpr:
    """All of the conditions hold."""
    return _chain(logical_and, args, span)


def any(*args: Operand, span: Span | None = None) -> PrimExpr:
    """At least one of the conditions holds."""
    return _chain(logical_or, args, span)


def _chain(join: Callable[..., PrimExpr], args: tuple[Operand, ...], span: Span | None) -> PrimExpr:
    if not args:
        raise ValueError("Any must take at least 1 argument")
    result = as_expr(args[0])
    for arg in args[1:]:
        result = join(result, arg, span)
    return result


def _power(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    from .math import power  # declared among the math operators

    return power(lhs, rhs, span)


def _zero_like(value: PrimExpr) -> PrimExpr:
    return make_const(0, value.dtype)


def _call_global(gvar: Any, *args: Operand) -> PrimExpr:
    return e.Call("void", gvar, args)


def _simplify(expr: PrimExpr) -> PrimExpr:
    return SIMPLIFIERS.get("analyzer")(expr)


def _merge_quotients(expr: PrimExpr) -> PrimExpr:
    return SIMPLIFIERS.get("merge_quotients")(expr)


OPERATORS["tir"].update(
    {
        "convert": as_expr,
        "const": const,
        "zero_like": _zero_like,
        "range_extent": lambda low, high: high if is_zero(low) else subtract(high, low),
        "add": add,
        "subtract": subtract,
        "multiply": multiply,
        "divide": divide,
        "floordiv": floordiv,
        "mod": floormod,
        "power": _power,
        "negative": negative,
        "left_shift": shift_left,
        "right_shift": shift_right,
        "bitwise_and": bitwise_and,
        "bitwise_or": bitwise_or,
        "bitwise_xor": bitwise_xor,
        "bitwise_not": bitwise_not,
        "less": less,
        "less_equal": less_equal,
        "greater": greater,
        "greater_equal": greater_equal,
        "equal": equal,
        "not_equal": not_equal,
        "lazy_equal": EqualOp,
        "lazy_not_equal": NotEqualOp,
        "astype": cast,
        "call_global": _call_global,
        "simplify": _simplify,
        "merge_quotients": _merge_quotients,
    }
)
