"""Compute on the integers between a `qnn.dequantize` and the `qnn.quantize` that it ends in.

    qnn.quantize(nn.relu(qnn.dequantize(%x, s, z)), s, z)    ->    maximum(%x, cast(z))

Every operator of the region needs a rule `f(expr, type_map)`: it gets the call with integers for
operands, and gives the call on integers with the affine type (scale, zero point) of the result.
Regions with an operator without a rule stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tvm.error import TVMError, message
from tvm.ir.affine_type import TensorAffineType, TupleAffineType
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, const
from tvm.relay.op.op import (
    register_fake_quantization_to_integer,
    register_optional_fake_quantization_to_integer,
)
from tvm.relay.qnn import op as qnn
from tvm.relay.qnn.op.arithmetic import constant_of
from tvm.relay.traverse import children, rebuild, transform

from .fold_constant import FoldConstantExpr
from .function_pass import expr_pass
from .infer_type import infer_types_of

Result = list[Any]
Rule: TypeAlias = "Callable[[Any, TypeMap], Result]"


# decorates the rule of an operator
_rule_for: Final[Callable[[str], Callable[[Rule], Rule]]] = register_fake_quantization_to_integer
_optional_rule_for: Final[Callable[[str], Callable[[Rule], Rule]]] = (
    register_optional_fake_quantization_to_integer
)


class TypeMap:
    """The affine type of each expression of a region."""

    def __init__(self) -> None:
        self._types: dict[int, Any] = {}
        self._kept: list[RelaxExpr] = []

    def __getitem__(self, expr: RelaxExpr) -> Any:
        if id(expr) not in self._types:
            raise KeyError(f"the operand {expr} is not quantized")
        return self._types[id(expr)]

    def __setitem__(self, expr: RelaxExpr, found: Any) -> None:
        self._types[id(expr)] = found
        self._kept.append(expr)

    def __contains__(self, expr: RelaxExpr) -> bool:
        return id(expr) in self._types


def fold_constant(expr: RelaxExpr) -> Any:
    """A parameter as a constant, where it is one."""
    return FoldConstantExpr(expr, IRModule())


def get_zeros(scale: RelaxExpr) -> Any:
    """The zero points of a product: none."""
    return fold_constant(R.cast(R.zeros_like(scale), "int32"))


def infer_shape(expr: RelaxExpr) -> tuple[int, ...]:
    """The shape of an expression."""
    found: Any = infer_types_of(expr).checked_type
    shape: tuple[int, ...] = found.concrete_shape
    return shape


def approx_equal(x: RelaxExpr, y: RelaxExpr) -> bool:
    """Whether two parameters are the same but for rounding."""
    a, b = constant_of(x), constant_of(y)
    if a is None or b is None:
        return structural_equal(x, y)
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    return (1 in (a.size, b.size) or a.shape == b.shape) and bool(np.all(np.isclose(a, b)))


def _same(a: TensorAffineType, b: TensorAffineType) -> bool:
    same = approx_equal(a.scale, b.scale) and approx_equal(a.zero_point, b.zero_point)
    return same and str(a.dtype) == str(b.dtype)


def _as_type(value: Any, t: TensorAffineType, to: TensorAffineType) -> Any:
    if _same(t, to):
        return value
    return qnn.requantize(
        value, fold_constant(t.scale), fold_constant(t.zero_point), to.scale, to.zero_point,
        out_dtype=str(to.dtype), axis=t.axis,
    )  # fmt: skip


def _options(expr: Any) -> dict[str, Any]:
    return dict(expr.attrs.items())


# --- the ends of regions ---


@_rule_for("qnn.dequantize")
def dequantize(expr: Any, type_map: TypeMap) -> Result:
    """The integers themselves."""
    return [expr.args[0], type_map[expr]]


@_rule_for("qnn.quantize")
def quantize(expr: Any, type_map: TypeMap) -> Result:
    """Integers with the parameters that are asked for."""
    t = type_map[expr.args[0]]
    wanted = TensorAffineType(
        expr.args[1], expr.args[2], str(expr.attrs.out_dtype), int(expr.attrs.axis)
    )
    return [_as_type(expr.args[0], t, wanted), wanted]


# --- what works on integers as on reals ---


def register_unary_identity(op_name: str) -> Any:
    """Operators that move or choose elements."""

    def identity(expr: Any, type_map: TypeMap) -> Result:
        return [expr, type_map[expr.args[0]]]

    return register_fake_quantization_to_integer(op_name, identity)


for _name in (
    "reshape", "squeeze", "strided_slice", "transpose", "expand_dims", "nn.max_pool2d",
    "nn.batch_flatten", "nn.depth_to_space", "nn.space_to_depth", "max", "min",
    "nn.upsampling", "copy", "tile", "repeat", "reverse",
):  # fmt: skip
    register_unary_identity(_name)


@_rule_for("image.resize2d")
def resize2d(expr: Any, type_map: TypeMap) -> Result:
    """Means of neighbours, which lie between them; cubic weights overshoot, and integers wrap."""
    if expr.attrs.method == "cubic":
        raise TVMError(
            message("image.resize2d in integers", found="cubic", legal="linear, nearest_neighbor")
        )
    return [expr, type_map[expr.args[0]]]


@_rule_for("broadcast_to")
def broadcast_to(expr: Any, type_map: TypeMap) -> Result:
    """An axis of channels is counted from the back, where shapes are joined."""
    t = type_map[expr.args[0]]
    return [expr, t]


@_rule_for("take")
def take(expr: Any, type_map: TypeMap) -> Result:
    """Elements at indices, which are integers anyway."""
    return [expr, type_map[expr.args[0]]]


@_rule_for("topk")
def topk(expr: Any, type_map: TypeMap) -> Result:
    """The greatest values; indices are not quantized."""
    if expr.attrs.ret_type != "values":
        raise TVMError(
            message("topk: indices have no scale", found=expr.attrs.ret_type, legal="values")
        )
    return [expr, type_map[expr.args[0]]]


@_rule_for("split")
def split(expr: Any, type_map: TypeMap) -> Result:
    """Parts with the parameters of the whole."""
    t = type_map[expr.args[0]]
    sections = expr.attrs.indices_or_sections
    count = len(sections) + 1 if hasattr(sections, "__len__") else int(sections)
    return [expr, TupleAffineType([t] * count)]


# --- pooling and means: in 32 bits, and back ---


def _rescaled(expr: Any, type_map: TypeMap) -> Result:
    """The mean of integers that have the result's parameters already, in 32 bits.

    What a mean loses below one is then a part of the result's step, not of the operand's.
    """
    arg, out_t = expr.args[0], type_map[expr]
    t = type_map[arg]
    if _same(t, out_t):
        arg = R.cast(arg, "int32")
    else:
        wide = TensorAffineType(out_t.scale, out_t.zero_point, "int32", out_t.axis)
        arg = _as_type(arg, t, wide)
    out = Call(expr.op, [arg, *expr.args[1:]], expr.attrs)
    if str(out_t.dtype) == "int32":
        return [out, out_t]
    scale, zero = out_t.scale, out_t.zero_point
    out = qnn.requantize(out, scale, zero, scale, zero, out_t.axis, out_dtype=str(out_t.dtype))
    return [out, out_t]


@_rule_for("nn.avg_pool2d")
def avgpool2d(expr: Any, type_map: TypeMap) -> Result:
    """The mean of each window, by the operator for integers."""
    arg, t, out_t = expr.args[0], type_map[expr.args[0]], type_map[expr]
    options = {name: value for name, value in expr.attrs.items() if value is not None}
    out = qnn.avg_pool2d(
        arg, t.scale, t.zero_point, out_t.scale, out_t.zero_point, **options
    )
    return [out, _in_dtype(out_t, t)]


@_rule_for("nn.adaptive_avg_pool1d")
def adaptive_avgpool1d(expr: Any, type_map: TypeMap) -> Result:
    """The mean of each window."""
    return _rescaled(expr, type_map)


@_rule_for("nn.global_avg_pool2d")
def global_avgpool2d(expr: Any, type_map: TypeMap) -> Result:
    """The mean of each image."""
    return _rescaled(expr, type_map)


@_rule_for("mean")
def mean(expr: Any, type_map: TypeMap) -> Result:
    """The mean over axes, in 32 bits and back in the type of the operand."""
    t = type_map[expr.args[0]]
    wide = Call(expr.op, [R.cast(expr.args[0], "int32"), *expr.args[1:]], expr.attrs)
    return [R.cast(wide, str(t.dtype)), t]


# --- products ---


def _product(x_t: TensorAffineType, w_t: TensorAffineType, dtype: str, axis: int) -> Any:
    scale = fold_constant(R.multiply(x_t.scale, w_t.scale))
    return TensorAffineType(scale, get_zeros(scale), dtype, axis)


def _convolved(make: Any, expr: Any, type_map: TypeMap) -> Result:
    options = _options(expr)
    options.pop("out_dtype")
    x, weight = expr.args
    x_t, w_t = type_map[x], type_map[weight]
    out = make(
        x, weight, x_t.zero_point, w_t.zero_point, x_t.scale, w_t.scale, **options
    )
    layout = options["out_layout"] or options["data_layout"]
    letters = "".join(s for s in layout if s.isalpha())
    return [out, _product(x_t, w_t, str(out.attrs.out_dtype), letters.index("C"))]


@_rule_for("nn.conv2d")
def conv2d(expr: Any, type_map: TypeMap) -> Result:
    """The scale of a product is the product of the scales."""
    return _convolved(qnn.conv2d, expr, type_map)


@_rule_for("nn.conv2d_transpose")
def conv2d_transpose(expr: Any, type_map: TypeMap) -> Result:
    """The scale of a product is the product of the scales."""
    return _convolved(qnn.conv2d_transpose, expr, type_map)


@_rule_for("nn.dense")
def dense(expr: Any, type_map: TypeMap) -> Result:
    """The scale of a product is the product of the scales."""
    x, weight = expr.args
    x_t, w_t = type_map[x], type_map[weight]
    out = qnn.dense(
        x, weight, x_t.zero_point, w_t.zero_point, x_t.scale, w_t.scale,
        units=expr.attrs.units,
    )  # fmt: skip
    return [out, _product(x_t, w_t, str(out.attrs.out_dtype), 1)]


@_rule_for("nn.batch_matmul")
def batch_matmul(expr: Any, type_map: TypeMap) -> Result:
    """The scale of a product is the product of the scales."""
    x, y = expr.args
    if expr.attrs.transpose_a or not expr.attrs.transpose_b:
        raise TVMError("nn.batch_matmul: only the right operand may be turned in integers")
    x_t, y_t = type_map[x], type_map[y]
    out = qnn.batch_matmul(x, y, x_t.zero_point, y_t.zero_point, x_t.scale, y_t.scale)
    return [out, _product(x_t, y_t, str(out.attrs.out_dtype), x_t.axis)]


@_rule_for("nn.bias_add")
def bias_add(expr: Any, type_map: TypeMap) -> Result:
    """A bias in steps of what it is added to, and without a zero point; sums have 32 bits."""
    x, bias = expr.args
    t = type_map[x]
    sums = TensorAffineType(t.scale, t.zero_point, "int32", t.axis)
    steps = TensorAffineType(t.scale, get_zeros(t.zero_point), "int32", t.axis)
    if bias in type_map:
        b_t = type_map[bias]
        moved = TensorAffineType(b_t.scale, b_t.zero_point, b_t.dtype, 0)
        bias = _as_type(bias, moved, steps)
    else:
        bias = _constant(bias, steps, 0)
    wide = x if str(t.dtype) == "int32" else R.cast(x, "int32")
    return [Call(expr.op, [wide, bias], expr.attrs), sums]


def _constant(value: RelaxExpr, t: TensorAffineType, axis: int | None = None) -> Any:
    """A constant real number with the parameters of another operand."""
    if not isinstance(value, Constant):
        raise TVMError(
            message(
                "an operand is not quantized",
                found=str(value)[:200],
                legal="results of qnn.dequantize, and constants",
            )
        )
    many = infer_shape(t.scale) or infer_shape(t.zero_point)
    along = -1 if not many else t.axis if axis is None else axis
    return qnn.quantize(value, t.scale, t.zero_point, along, str(t.dtype))


# --- two operands ---


def get_binary_types(expr: Any, type_map: TypeMap) -> tuple[Any, Any, Any, Any, Any]:
    """Both operands in integers, their affine types, and that of the region's result."""
    left, right = expr.args
    if left not in type_map and right not in type_map:
        raise TypeError("neither input is quantized!")
    if left not in type_map:
        left_t = right_t = type_map[right]
        left = _constant(left, right_t)
    elif right not in type_map:
        left_t = right_t = type_map[left]
        right = _constant(right, left_t)
    else:
        left_t, right_t = type_map[left], type_map[right]
    out_t = type_map[expr]
    if str(left_t.dtype) != str(right_t.dtype):  # brought to the wider of the two
        wide = max(left_t, right_t, key=lambda t: np.dtype(str(t.dtype)).itemsize)
        left, right = _as_type(left, left_t, wide), _as_type(right, right_t, wide)
        left_t = right_t = wide
    if str(left_t.dtype) != str(out_t.dtype):
        out_t = TensorAffineType(out_t.scale, out_t.zero_point, left_t.dtype, out_t.axis)
    return left, right, left_t, right_t, out_t


def register_binary_qnn(op_name: str, op: Callable[..., Any]) -> Any:
    """Operators of `relay.qnn.op` with a scale for each operand and the result.

    Sums of 32 bits in the same steps are plain ones: they are biases as a rule, and their steps
    may be many, which those operators do not take.
    """

    def binary(expr: Any, type_map: TypeMap) -> Result:
        left, right, left_t, right_t, out_t = get_binary_types(expr, type_map)
        if op_name == "add" and str(left_t.dtype) == "int32" and _same(left_t, right_t):
            return [R.add(left, right), left_t]
        out = op(
            left, right, left_t.scale, left_t.zero_point, right_t.scale, right_t.zero_point,
            out_t.scale, out_t.zero_point, left_t.axis, right_t.axis,
        )  # fmt: skip
        return [out, out_t]

    return register_fake_quantization_to_integer(op_name, binary)


register_binary_qnn("add", qnn.add)
register_binary_qnn("multiply", qnn.mul)
register_binary_qnn("subtract", qnn.subtract)


def register_binary_identity(op_name: str, op: Callable[..., Any]) -> Any:
    """Operators that choose between operands, once those have the same parameters."""

    def binary(expr: Any, type_map: TypeMap) -> Result:
        left, right, left_t, right_t, out_t = get_binary_types(expr, type_map)
        return [op(_as_type(left, left_t, out_t), _as_type(right, right_t, out_t)), out_t]

    return register_fake_quantization_to_integer(op_name, binary)


register_binary_identity("minimum", R.minimum)
register_binary_identity("maximum", R.maximum)


@_rule_for("concatenate")
def concat(expr: Any, type_map: TypeMap) -> Result:
    """Tensors joined with the parameters of the region's result."""
    types = type_map[expr.args[0]].types
    out_t = type_map[expr]
    out = qnn.concatenate(
        expr.args[0], Tuple([t.scale for t in types]), Tuple([t.zero_point for t in types]),
        out_t.scale, out_t.zero_point, axis=int(expr.attrs.axis),
    )  # fmt: skip
    if str(types[0].dtype) != str(out_t.dtype):
        out_t = TensorAffineType(out_t.scale, out_t.zero_point, types[0].dtype, out_t.axis)
    return [out, out_t]


# --- functions of one operand ---


def _along(value: Any, t: TensorAffineType, arg: RelaxExpr) -> Any:
    """A number for each channel, stretched along the channels of `arg`."""
    shape = infer_shape(t.scale)
    if len(shape) != 1 or shape[0] <= 1:
        return value
    wide = [1] * len(infer_shape(arg))
    wide[t.axis] = -1
    return R.reshape(R.broadcast_to(value, shape), wide)


@_rule_for("clip")
def clip(expr: Any, type_map: TypeMap) -> Result:
    """Limits as integers; one for each channel where the scales are many."""
    arg = expr.args[0]
    t = type_map[arg]
    scale, zero = constant_of(t.scale), constant_of(t.zero_point)
    low, high = float(expr.attrs.a_min), float(expr.attrs.a_max)
    if scale is not None and zero is not None and scale.size == zero.size == 1:
        bounds = [int(limit / scale.item() + zero.item()) for limit in (low, high)]
        return [R.clip(arg, *bounds), t]
    limits = [
        fold_constant(
            qnn.quantize(_along(const(limit), t, arg), t.scale, t.zero_point, t.axis, str(t.dtype))
        )
        for limit in (low, high)
    ]
    return [R.minimum(R.maximum(arg, limits[0]), limits[1]), t]


@_rule_for("nn.relu")
def relu(expr: Any, type_map: TypeMap) -> Result:
    """Nothing below the zero point."""
    arg = expr.args[0]
    t = type_map[arg]
    zero = fold_constant(R.cast(_along(t.zero_point, t, arg), str(t.dtype)))
    return [R.maximum(arg, zero), t]


@_rule_for("nn.leaky_relu")
def leaky_relu(expr: Any, type_map: TypeMap) -> Result:
    """By the operator for integers."""
    arg, x_t, out_t = expr.args[0], type_map[expr.args[0]], type_map[expr]
    out = qnn.leaky_relu(
        arg, expr.attrs.alpha, x_t.scale, x_t.zero_point, out_t.scale, out_t.zero_point
    )
    return [out, _in_dtype(out_t, x_t)]


def _in_dtype(out_t: TensorAffineType, x_t: TensorAffineType) -> TensorAffineType:
    """The result's parameters, in the type that the operand has."""
    return TensorAffineType(out_t.scale, out_t.zero_point, x_t.dtype, out_t.axis)


@_optional_rule_for("nn.softmax")
def softmax(expr: Any, type_map: TypeMap) -> Result:
    """By the operator for integers."""
    arg, x_t, out_t = expr.args[0], type_map[expr.args[0]], type_map[expr]
    out = qnn.softmax(
        arg, x_t.scale, x_t.zero_point, out_t.scale, out_t.zero_point, int(expr.attrs.axis)
    )
    return [out, _in_dtype(out_t, x_t)]


@_rule_for("nn.pad")
def pad(expr: Any, type_map: TypeMap) -> Result:
    """The border as an integer."""
    arg, value = expr.args
    t = type_map[arg]
    value = _as_type(value, type_map[value], t) if value in type_map else _constant(value, t)
    return [Call(expr.op, [arg, value], expr.attrs), t]


def register_unary_qnn(op_name: str, op: Callable[..., Any]) -> Any:
    """Operators of `relay.qnn.op` with a scale for the operand and one for the result."""

    def unary(expr: Any, type_map: TypeMap) -> Result:
        x_t, out_t = type_map[expr.args[0]], type_map[expr]
        out = op(expr.args[0], x_t.scale, x_t.zero_point, out_t.scale, out_t.zero_point)
        return [out, _in_dtype(out_t, x_t)]

    return register_fake_quantization_to_integer(op_name, unary)


for _name in ("sqrt", "rsqrt", "exp", "erf", "sigmoid", "tanh", "log", "abs"):
    register_unary_qnn(_name, getattr(qnn, _name))


# --- the pass ---

_DATAFLOW: Final = (Call, Tuple, TupleGetItem, Constant, Op)


class _Region:
    """What a `qnn.quantize` is computed from, up to where integers come in."""

    def __init__(self, end: Call) -> None:
        self.calls: list[Call] = []
        self.is_dataflow = True
        self.order: list[RelaxExpr] = []
        seen: set[int] = set()
        stack: list[tuple[RelaxExpr, bool]] = [(end.args[0], False)]
        while stack:
            expr, entered = stack.pop()
            if entered:
                self.order.append(expr)
                continue
            if id(expr) in seen:
                continue
            seen.add(id(expr))
            self.is_dataflow &= isinstance(expr, _DATAFLOW)
            stack.append((expr, True))
            if isinstance(expr, Call):
                self.is_dataflow &= isinstance(expr.op, Op)
                self.calls.append(expr)
            if not _is(expr, "qnn.dequantize") and self.is_dataflow:
                stack.extend([(part, False) for part in _parts(expr)])


def _parts(expr: RelaxExpr) -> Sequence[RelaxExpr]:
    return expr.args if isinstance(expr, Call) else children(expr)


def _is(expr: RelaxExpr, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _affine(call: Any) -> TensorAffineType:
    dtype = call.attrs.out_dtype if _is(call, "qnn.quantize") else call.args[0].checked_type.dtype
    return TensorAffineType(call.args[1], call.args[2], str(dtype), int(call.attrs.axis))


def _rule_of(op: Any, optional: Sequence[str]) -> Rule | None:
    found: Rule | None = op.get_attr("FTVMFakeQuantizationToInteger")
    if found is None and op.name in optional:
        found = op.get_attr("FTVMOptionalFakeQuantizationToInteger")
    return found


def _in_integers(end: Call, hard_fail: bool, optional: Sequence[str]) -> RelaxExpr:
    """`end`, a `qnn.quantize`, with its region in integers; itself where that cannot be."""
    region = _Region(end)
    if not region.is_dataflow or not any(_is(c, "qnn.dequantize") for c in region.calls):
        return end
    for call in region.calls:
        if _rule_of(call.op, optional) is None:
            if hard_fail:
                raise TVMError(
                    message(
                        f"Found no rewrite rule for {call.op.name}",  # type: ignore[attr-defined]
                        legal="operators with register_fake_quantization_to_integer",
                    )
                )
            return end
    try:
        return _rewritten(end, region, optional)
    except Exception:  # rules are users' too, and refuse in their own way
        if hard_fail:
            raise
        return end  # what a rule does not take stays in real numbers


def _rewritten(end: Call, region: _Region, optional: Sequence[str]) -> RelaxExpr:
    types = TypeMap()
    made: dict[int, Any] = {}
    out_t = _affine(end)
    for expr in (*region.order, end):
        if isinstance(expr, Call):
            args = list(expr.args)
            if not _is(expr, "qnn.dequantize"):
                count = 1 if expr is end else len(args)
                args[:count] = [made[id(arg)] for arg in args[:count]]
            post = rebuild(expr, [expr.op, *args])
            types[post] = _affine(expr) if _is(expr, "qnn.dequantize") else out_t
            rule = _rule_of(expr.op, optional)
            assert rule is not None, "all calls have one"
            value, found = rule(post, types)
            twice = _is(expr, "qnn.dequantize") and value in types
            if twice and not _agree(types[value], found):
                value = R.copy(value)  # the same integers stand for other numbers here
            made[id(expr)] = value
            types[value] = found
        elif isinstance(expr, Tuple):
            fields = [made[id(field)] for field in expr.fields]
            made[id(expr)] = rebuild(expr, fields)
            if all(field in types for field in fields):
                types[made[id(expr)]] = TupleAffineType([types[field] for field in fields])
        elif isinstance(expr, TupleGetItem):
            source = made[id(expr.tuple_value)]
            made[id(expr)] = rebuild(expr, [source])
            types[made[id(expr)]] = types[source].types[expr.index]
        else:
            made[id(expr)] = expr
    result: RelaxExpr = made[id(end)]
    return result


def _agree(a: Any, b: Any) -> bool:
    if isinstance(a, TensorAffineType) and isinstance(b, TensorAffineType):
        return _same(a, b) and a.axis == b.axis
    return a is b


@expr_pass("FakeQuantizationToInteger", opt_level=0, required=["DivToMul"])
def FakeQuantizationToInteger(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, hard_fail: bool = False,
    use_qat: bool = False, optional_qnn_ops: Sequence[str] | None = None,
) -> RelaxExpr:  # fmt: skip
    """The function with integers between dequantization and quantization.

    With `use_qat`, calls whose operands all come from `qnn.dequantize` are computed in integers
    too where nothing quantizes the result. `optional_qnn_ops` names operators whose optional rules
    are used.
    """
    optional = list(optional_qnn_ops or ())

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not _is(new, "qnn.quantize"):
            return new
        return _in_integers(infer_types_of(new, mod), hard_fail, optional)  # type: ignore[arg-type]

    func = infer_types_of(transform(func, rule), mod)
    return _after_training(func, mod, hard_fail, optional) if use_qat else func


def _after_training(
    func: RelaxExpr, mod: IRModule, hard_fail: bool, optional: Sequence[str]
) -> RelaxExpr:
    """Operators between dequantizations and real numbers, with one dequantization behind them.

    Their results have 32 bits, which lose nothing.
    """
    known = ("nn.conv2d", "nn.dense", "nn.batch_matmul", "nn.conv2d_transpose", "nn.bias_add")

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(new, Call) and isinstance(new.op, Op) and new.op.name in known):
            return new
        if not all(_is(a, "qnn.dequantize") or isinstance(a, Constant) for a in new.args) or (
            not _is(new.args[0], "qnn.dequantize")
        ):
            return new
        typed = infer_types_of(new, mod)
        found = _real_result(typed, optional, hard_fail)
        return new if found is None else found

    return transform(func, rule)


def _real_result(call: Any, optional: Sequence[str], hard_fail: bool) -> RelaxExpr | None:
    types, args = TypeMap(), []
    try:
        for arg in call.args:
            if _is(arg, "qnn.dequantize"):
                types[arg.args[0]] = _affine(arg)
                args.append(arg.args[0])
            else:
                args.append(arg)
        post = rebuild(call, [call.op, *args])
        types[post] = types[args[0]]
        rule = _rule_of(call.op, optional)
        assert rule is not None, "the operators have one"
        out, t = rule(post, types)
    except Exception:  # rules are users' too, and refuse in their own way
        if hard_fail:
            raise
        return None
    made: RelaxExpr = qnn.dequantize(out, t.scale, t.zero_point, axis=t.axis)
    return made


