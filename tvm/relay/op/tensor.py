"""Operators on single elements: functions of one and of two tensors, and making tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import OPERATORS, RelaxExpr
from tvm.relax import op as R
from tvm.relay.expr import Call, Tuple, TupleWrapper, const
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType
from tvm.topi.creating import tensor_size

from .annotation import as_virtual_device
from .declare import (
    ATTRS_CLASSES,
    BROADCAST,
    ELEMWISE,
    INJECTIVE,
    OPAQUE,
    REQUIRED,
    Expr,
    Lower,
    Relate,
    RelayOp,
    as_expr,
    constant_ints,
    dynamic,
    is_open,
    relay_op,
    te,
    topi,
)
from .relations import (
    axis_of,
    boolean,
    broadcast,
    compare,
    extents,
    identity,
    is_any,
    same_extent,
    tensor,
    tensors,
)
from .rounding import rounded_away

# How much of a compiler supports an operator; 1, the most common ones, where nothing is said.
_LEVELS: Final = {
    **dict.fromkeys(("abs", "ceil", "copy", "floor", "isfinite", "isinf", "isnan", "negative",
                     "round", "sign", "trunc"), 3),
    **dict.fromkeys(("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "equal", "greater",
                     "greater_equal", "left_shift", "less", "less_equal", "logical_and",
                     "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
                     "not_equal", "ones_like", "power", "right_shift", "zeros_like"), 4),
}  # fmt: skip


def _relax(func: Callable[..., Any]) -> Lower:
    return lambda bb, *args: func(*args)


def _unary(name: str, doc: str, lower: Lower, relation: Any = identity) -> RelayOp[[Expr]]:
    def build(data: Expr) -> Call:
        return made.call(data)

    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__doc__ = doc
    level = _LEVELS.get(name, 1)
    made = relay_op(name, lower=lower, relation=relation, pattern=ELEMWISE, level=level)(build)
    return made


log = _unary("log", "The natural logarithm.", _relax(R.log))
log2 = _unary("log2", "The logarithm to the base 2.", te(topi.log2))
log10 = _unary("log10", "The logarithm to the base 10.", te(topi.log10))
tan = _unary("tan", "The tangent.", _relax(R.tan))
cos = _unary("cos", "The cosine.", _relax(R.cos))
cosh = _unary("cosh", "The hyperbolic cosine.", _relax(R.cosh))
sin = _unary("sin", "The sine.", _relax(R.sin))
sinh = _unary("sinh", "The hyperbolic sine.", _relax(R.sinh))
acos = _unary("acos", "The inverse of the cosine.", _relax(R.acos))
acosh = _unary("acosh", "The inverse of the hyperbolic cosine.", _relax(R.acosh))
asin = _unary("asin", "The inverse of the sine.", _relax(R.asin))
asinh = _unary("asinh", "The inverse of the hyperbolic sine.", _relax(R.asinh))
atan = _unary("atan", "The inverse of the tangent.", _relax(R.atan))
atanh = _unary("atanh", "The inverse of the hyperbolic tangent.", _relax(R.atanh))
exp = _unary("exp", "The exponential.", _relax(R.exp))
erf = _unary("erf", "The error function.", _relax(R.erf))
sqrt = _unary("sqrt", "The square root.", _relax(R.sqrt))
rsqrt = _unary("rsqrt", "One over the square root.", _relax(R.rsqrt))
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).", _relax(R.sigmoid))
floor = _unary("floor", "The next whole number below.", _relax(R.floor))
ceil = _unary("ceil", "The next whole number above.", _relax(R.ceil))
trunc = _unary("trunc", "The next whole number towards zero.", _relax(R.trunc))
round = _unary("round", "The nearest whole number; halves go away from zero.",
               te(rounded_away))  # fmt: skip
abs = _unary("abs", "The absolute value.", _relax(R.abs))
sign = _unary("sign", "-1, 0 or 1.", _relax(R.sign))
tanh = _unary("tanh", "The hyperbolic tangent.", _relax(R.tanh))
negative = _unary("negative", "The value with the other sign.", _relax(R.negative))
logical_not = _unary("logical_not", "Not, of bools.", _relax(R.logical_not))
bitwise_not = _unary("bitwise_not", "Not, of each bit.", _relax(R.bitwise_not))
copy = _unary("copy", "The same values.", te(topi.identity))
fast_exp = _unary("fast_exp", "The exponential, less exact.", te(topi.fast_exp))
fast_tanh = _unary("fast_tanh", "The hyperbolic tangent, less exact.", te(topi.fast_tanh))
fast_erf = _unary("fast_erf", "The error function, less exact.", te(topi.fast_erf))
zeros_like = _unary("zeros_like", "Zeros of the shape and type of another tensor.",
                    _relax(R.zeros_like))  # fmt: skip
ones_like = _unary("ones_like", "Ones of the shape and type of another tensor.",
                   _relax(R.ones_like))  # fmt: skip
isnan = _unary("isnan", "Whether a value is not a number.", _relax(R.isnan), boolean)
isfinite = _unary("isfinite", "Whether a value is finite.", _relax(R.isfinite), boolean)
isinf = _unary("isinf", "Whether a value is infinite.", _relax(R.isinf), boolean)


def _binary(
    name: str, doc: str, lower: Lower, relation: Any = broadcast
) -> RelayOp[[Expr, Expr]]:
    def build(lhs: Expr, rhs: Expr) -> Call:
        return made.call(lhs, rhs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    level = _LEVELS.get(name, 1)
    made = relay_op(name, lower=lower, relation=relation, pattern=BROADCAST, level=level)(build)
    return made


add = _binary("add", "The sum.", _relax(R.add))
subtract = _binary("subtract", "The difference.", _relax(R.subtract))
multiply = _binary("multiply", "The product.", _relax(R.multiply))
divide = _binary("divide", "The quotient; of integers, cut towards zero.",
                 te(topi.divide))  # fmt: skip
floor_divide = _binary("floor_divide", "The quotient rounded down.", _relax(R.floor_divide))
trunc_divide = _binary("trunc_divide", "The quotient cut towards zero.",
                       lambda bb, a, b: _trunc_divide(bb, a, b))  # fmt: skip
power = _binary("power", "One to the power of the other.", _relax(R.power))
mod = _binary("mod", "The remainder with the sign of the dividend.", te(topi.mod))
floor_mod = _binary("floor_mod", "The remainder with the sign of the divisor.",
                    _relax(R.floor_mod))  # fmt: skip
trunc_mod = _binary("trunc_mod", "The remainder with the sign of the dividend.",
                    te(topi.mod))  # fmt: skip
def _of_bools(func: Callable[..., Any]) -> Lower:
    """A function of bools for numbers, too: what is not zero is true."""

    def lower(bb: Any, a: Any, b: Any) -> Any:
        dtype = a.struct_info.dtype
        if dtype == "bool":
            return func(a, b)
        return R.astype(func(R.astype(a, "bool"), R.astype(b, "bool")), dtype)

    return lower


logical_and = _binary("logical_and", "And, of bools.", _of_bools(R.logical_and))
logical_or = _binary("logical_or", "Or, of bools.", _of_bools(R.logical_or))
logical_xor = _binary("logical_xor", "Exclusive or, of bools.", _of_bools(R.logical_xor))
bitwise_and = _binary("bitwise_and", "And, of each bit.", _relax(R.bitwise_and))
bitwise_or = _binary("bitwise_or", "Or, of each bit.", _relax(R.bitwise_or))
bitwise_xor = _binary("bitwise_xor", "Exclusive or, of each bit.", _relax(R.bitwise_xor))
equal = _binary("equal", "Whether two values are equal.", _relax(R.equal), compare)
not_equal = _binary("not_equal", "Whether two values differ.", _relax(R.not_equal), compare)
less = _binary("less", "Whether the first is less.", _relax(R.less), compare)
less_equal = _binary("less_equal", "Whether the first is not greater.",
                     _relax(R.less_equal), compare)  # fmt: skip
greater = _binary("greater", "Whether the first is greater.", _relax(R.greater), compare)
greater_equal = _binary("greater_equal", "Whether the first is not less.",
                        _relax(R.greater_equal), compare)  # fmt: skip
maximum = _binary("maximum", "The greater value.", _relax(R.maximum))
minimum = _binary("minimum", "The lesser value.", _relax(R.minimum))
right_shift = _binary("right_shift", "Bits moved to the right.", te(topi.right_shift))
left_shift = _binary("left_shift", "Bits moved to the left.", te(topi.left_shift))


def _trunc_divide(bb: Any, a: Any, b: Any) -> Any:
    quotient = bb.call_te(topi.divide, a, b)
    is_float = str(a.struct_info.dtype).startswith(("float", "bfloat"))
    return R.trunc(bb.normalize(quotient)) if is_float else quotient


def _init(ctx: Relate) -> TensorType:
    shape = ctx.attrs.shape
    if shape is None:
        count = tensor(ctx, 0)
        rank = 1 if count is None or not count.shape else extents(count)[0]
        return TensorType([AnyDim() for _ in range(rank)], ctx.attrs.dtype)
    return TensorType(shape, ctx.attrs.dtype)


def _filled(fill: Callable[..., Any]) -> Lower:
    return lambda bb, *, shape, dtype: fill(list(shape), dtype)


@relay_op("zeros", "InitOpAttrs", lower=_filled(R.zeros), relation=_init, operands=(), level=3,
          optional={"dtype": ""},
          pattern=ELEMWISE)  # fmt: skip
def zeros(shape: Any, dtype: str) -> Call:
    """Zeros of a shape."""
    if is_open(shape):
        return dynamic("dyn.zeros", ATTRS_CLASSES["InitOpAttrs"](shape=None, dtype=dtype), shape)
    return zeros.call(shape=_shape_of_fill(shape), dtype=dtype)


@relay_op("ones", "InitOpAttrs", lower=_filled(R.ones), relation=_init, operands=(), level=3,
          optional={"dtype": ""},
          pattern=ELEMWISE)  # fmt: skip
def ones(shape: Any, dtype: str) -> Call:
    """Ones of a shape."""
    if is_open(shape):
        return dynamic("dyn.ones", ATTRS_CLASSES["InitOpAttrs"](shape=None, dtype=dtype), shape)
    return ones.call(shape=_shape_of_fill(shape), dtype=dtype)


def _shape_of_fill(shape: Any) -> Any:
    found = constant_ints(shape) if not isinstance(shape, (list, tuple)) else list(shape)
    if found is None:
        raise TypeError(
            "the shape is an expression that is no constant; legal: numbers, or a relay.const"
        )
    return tuple(found)


@relay_op("clip", "ClipAttrs", operands=("a",), relation=identity, pattern=ELEMWISE, level=3,
          lower=lambda bb, a, *, a_min, a_max: bb.call_te(topi.clip, a, a_min, a_max))  # fmt: skip
def clip(a: Expr, a_min: float, a_max: float) -> Call:
    """Values cut at a least and a greatest one."""
    return clip.call(a, a_min=float(a_min), a_max=float(a_max))


@relay_op("fixed_point_multiply", "FixedPointMultiplyAttrs", operands=("data",),
          relation=identity, pattern=ELEMWISE,
          lower=lambda bb, x, *, multiplier, shift: bb.call_te(
              topi.fixed_point_multiply, x, multiplier, shift))  # fmt: skip
def fixed_point_multiply(data: Expr, multiplier: int, shift: int) -> Call:
    """Integers times a number between 0 and 1 in fixed point (Q31), times two to a power."""
    return fixed_point_multiply.call(data, multiplier=multiplier, shift=shift)


def _per_axis_type(ctx: Relate) -> TensorType | None:
    data, *rest = (tensor(ctx, i) for i in range(4))
    if data is None:
        return None
    dims = extents(data)
    if str(data.dtype) != "int32":
        raise ctx.fail("the numbers are not int32", "int32, as fixed point has it")
    own = [dims[axis_of(ctx, int(axis), len(dims))] for axis in ctx.attrs.axes]
    for at, found in enumerate(rest, 1):
        if found is None:
            ctx.assign(at, TensorType(own, "int32"))
            continue
        have = extents(found)
        fits = len(have) == len(own) and all(
            is_any(a, b) or same_extent(a, b) for a, b in zip(have, own)
        )
        if not fits or str(found.dtype) != "int32":
            raise ctx.fail(
                f"operand {at} does not fit the axes {tuple(ctx.attrs.axes)}",
                f"int32 of the shape ({', '.join(map(str, own))})",
            )
    return data


def _per_axis(bb: Any, x: Any, *numbers: Any, axes: Any, **flags: Any) -> Any:
    own = [int(axis) % x.struct_info.ndim for axis in axes]
    return bb.call_te(topi.fixed_point_multiply_per_axis, x, *numbers, **flags, axes=own)


@relay_op("fixed_point_multiply_per_axis", "FixedPointMultiplyPerAxisAttrs",
          operands=("x", "y", "lshift", "rshift"), relation=_per_axis_type, pattern=BROADCAST,
          lower=_per_axis)  # fmt: skip
def fixed_point_multiply_per_axis(
    x: Expr, y: Expr, lshift: Expr, rshift: Expr, is_lshift_required: bool,
    is_rshift_required: bool, axes: Any,
) -> Call:  # fmt: skip
    """`fixed_point_multiply` by int32 tensors over `axes`: multipliers, shifts to left and right.

    A shift counts only where it is required; x is int32.
    """
    return fixed_point_multiply_per_axis.call(
        x, y, lshift, rshift, is_lshift_required=bool(is_lshift_required),
        is_rshift_required=bool(is_rshift_required), axes=tuple(int(axis) for axis in axes),
    )  # fmt: skip


def _concat_type(ctx: Relate) -> TensorType | None:
    fields = tensors(ctx, 0)
    if fields is None:
        return None
    if not fields:
        raise ctx.fail("nothing to join", "a tuple of one tensor or more")
    first = extents(fields[0])
    axis = axis_of(ctx, int(ctx.attrs.axis), len(first))
    total: Any = 0
    open_axis = any(is_any(extents(field)[axis]) for field in fields if len(field.shape) > axis)
    for field in fields:
        dims = extents(field)
        if len(dims) != len(first) or field.dtype != fields[0].dtype:
            raise ctx.fail("the tensors differ in rank or data type", "tensors of one kind")
        total = AnyDim() if is_any(dims[axis], total) else total + dims[axis]
        for at, (x, y) in enumerate(zip(first, dims)):
            known = isinstance(x, int) and isinstance(y, int)
            if at != axis and known and not same_extent(x, y):
                raise ctx.fail(f"extents {x} and {y} of axis {at} differ", "equal extents")
            if at != axis and is_any(x, y):  # known beside an axis that is open, and only there
                known_one = y if is_any(x) else x
                first[at] = known_one if open_axis else AnyDim()
    first[axis] = total  # a sum as it stands: n + n is no product
    return TensorType(first, fields[0].dtype)


@relay_op("concatenate", "ConcatenateAttrs", operands=("data",), relation=_concat_type,
          optional={"axis": 0}, pattern=INJECTIVE, level=1,
          lower=lambda bb, x, *, axis: R.concat(x, axis))  # fmt: skip
def concatenate(data: Any, axis: int) -> Call:
    """Tensors behind each other along an axis."""
    return concatenate.call(_several(data, "concatenate"), axis=_whole(axis))


def _several(data: Any, name: str) -> RelaxExpr:
    """A tuple of operands, not of none."""
    found = as_expr(data)
    if isinstance(found, Tuple) and not found.fields:
        raise ValueError(f"relay.{name} requires data to be non-empty.")
    return found


def _whole(axis: Any) -> int:
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return axis


def _stack_type(ctx: Relate) -> TensorType | None:
    fields = tensors(ctx, 0)
    if fields is None:
        return None
    dims = extents(fields[0])
    for field in fields[1:]:
        other = extents(field)
        differ = any(
            isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(dims, other)
        )
        if len(other) != len(dims) or field.dtype != fields[0].dtype or differ:
            raise ctx.fail("the tensors differ in shape or data type", "tensors of one kind")
    axis = axis_of(ctx, int(ctx.attrs.axis), len(dims) + 1)
    return TensorType([*dims[:axis], len(fields), *dims[axis:]], fields[0].dtype)


@relay_op("stack", "StackAttrs", operands=("data",), optional={"axis": 0}, pattern=INJECTIVE,
          level=3, relation=_stack_type, lower=lambda bb, x, *, axis: R.stack(x, axis))  # fmt: skip
def stack(data: Any, axis: int) -> Call:
    """Tensors side by side along a new axis."""
    return stack.call(_several(data, "stack"), axis=_whole(axis))


@relay_op("einsum", "EinsumAttrs", operands=("data",), pattern=INJECTIVE,
          lower=lambda bb, x, *, equation: R.einsum(x, equation), level=11)  # fmt: skip
def einsum(data: Any, equation: str) -> Call:
    """Sums of products, as Einstein's notation says."""
    return einsum.call(_several(data, "einsum"), equation=equation)


@relay_op("device_copy", "DeviceCopyAttrs", operands=("data",),
          hidden=("src_device", "dst_device"), relation=identity,
          optional={"src_virtual_device": REQUIRED, "dst_virtual_device": REQUIRED},
          lower=lambda bb, x, **_: x)  # fmt: skip
def device_copy(data: Expr, src_device: Any, dst_device: Any) -> Call:
    """The same values on another device."""
    devices = [as_virtual_device(device) for device in (src_device, dst_device)]
    return device_copy.call(data, src_virtual_device=devices[0], dst_virtual_device=devices[1])


def _shape_of_type(ctx: Relate) -> TensorType | None:
    x = tensor(ctx, 0)
    return None if x is None else TensorType((len(x.shape),), ctx.attrs.dtype)


def _shape_values(bb: Any, x: Any, *, dtype: str) -> Any:
    return bb.call_te(topi.shape, x, dtype)


@relay_op("shape_of", "ShapeOfAttrs", operands=("data",), relation=_shape_of_type, level=10,
          optional={"dtype": ""}, lower=_shape_values, pattern=OPAQUE)  # fmt: skip
def shape_of(data: Expr, dtype: str = "int32") -> Call:
    """The extents of a tensor, as a vector."""
    return shape_of.call(data, dtype=dtype)


@relay_op("ndarray_size", "NdarraySizeAttrs", operands=("data",), level=10,
          relation=lambda ctx: TensorType((), ctx.attrs.dtype), optional={"dtype": ""},
          lower=lambda bb, x, *, dtype: bb.call_te(tensor_size, x, dtype),
          pattern=INJECTIVE)  # fmt: skip
def ndarray_size(data: Expr, dtype: str = "int32") -> Call:
    """The number of elements."""
    return ndarray_size.call(data, dtype=dtype)


def copy_shape_func(attrs: Any, inputs: list[Any], _: Any) -> list[Any]:
    """The shape of a copy: that of the operand."""
    return [topi.identity(inputs[0])]


def _cast(x: Any, dtype: str) -> Any:
    from .transform import cast  # it stands on operators of its own file

    return cast(x, dtype)


OPERATORS["relay"].update(
    {
        "add": add, "subtract": subtract, "multiply": multiply, "divide": divide,
        "floordiv": floor_divide, "mod": mod, "power": power, "negative": negative,
        "less": less, "less_equal": less_equal, "greater": greater,
        "greater_equal": greater_equal, "astype": _cast, "left_shift": left_shift,
        "right_shift": right_shift, "bitwise_and": bitwise_and, "bitwise_or": bitwise_or,
        "bitwise_xor": bitwise_xor, "bitwise_not": bitwise_not, "equal": equal,
    }
)  # fmt: skip

__all__ = [
    "TupleWrapper", "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clip", "concatenate",
    "const", "copy", "copy_shape_func", "cos", "cosh", "device_copy", "divide", "einsum", "equal",
    "erf", "exp", "fixed_point_multiply", "fixed_point_multiply_per_axis", "floor", "floor_divide",
    "floor_mod", "greater",
    "greater_equal", "isfinite", "isinf", "isnan", "left_shift", "less", "less_equal", "log",
    "log10", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "mod", "multiply", "ndarray_size", "negative", "not_equal", "ones", "ones_like",
    "power", "right_shift", "round", "rsqrt", "shape_of", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "stack", "subtract", "tan", "tanh", "trunc", "trunc_divide", "trunc_mod", "zeros", "zeros_like",
]  # fmt: skip
