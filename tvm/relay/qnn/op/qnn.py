"""The operators on quantized tensors, with their types; their meaning is in the files beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.type import TupleType, Type
from tvm.relay import op as R
from tvm.relay.expr import Call, TupleWrapper, const
from tvm.relay.op import layout_conversions, nn
from tvm.relay.op.declare import (
    BROADCAST,
    ELEMWISE,
    INJECTIVE,
    OUT_FUSABLE,
    REQUIRED,
    Expr,
    Relate,
    relay_op,
    te,
    topi,
)
from tvm.relay.op.nn.conv import conv2d as plain_conv2d
from tvm.relay.op.nn.conv import conv2d_transpose as plain_conv2d_transpose
from tvm.relay.op.relations import broadcast_extents, extents, tensor, tensors
from tvm.relay.ty import IncompleteType, TensorType

from . import elementwise, products, scales
from .op import register_qnn_canonicalize
from .requantize_config import RequantizeConfig as RequantizeConfig
from .requantize_config import current_requantize_config as current_requantize_config
from .requantize_config import requantize_config as requantize_config

__all__ = [
    "RequantizeConfig", "abs", "add", "avg_pool2d", "batch_matmul", "concatenate",
    "contrib_dense_pack", "conv2d", "conv2d_transpose", "current_requantize_config", "dense",
    "dequantize", "erf", "exp", "hardswish", "leaky_relu", "log", "mul", "quantize", "requantize",
    "requantize_config", "rsqrt", "sigmoid", "simulated_dequantize", "simulated_quantize",
    "softmax", "sqrt", "subtract", "tanh",
]  # fmt: skip

_INTS = ("int8", "uint8", "int16", "uint16", "int32", "int64")


def _parameters(ctx: Relate, scale: int, zero: int, count: Any = None) -> None:
    """Scale and zero point are scalars, or vectors with a number for each channel."""
    for at, dtype in ((scale, "float32"), (zero, "int32")):
        if isinstance(ctx.types[at], IncompleteType):
            ctx.assign(at, TensorType((), dtype))
        found = tensor(ctx, at)
        assert found is not None, "assigned above"
        if str(found.dtype) != dtype:
            raise ctx.fail(f"operand {at} is of {found.dtype}", dtype)
        size = extents(found)
        fits = len(size) == 0 or ((len(size) == 1 and size[0] in (1, count)) or count is None)
        if not fits:
            raise ctx.fail(f"operand {at} has the shape {size}", f"() or ({count},)")


def _channels(found: TensorType, axis: int) -> Any:
    dims = extents(found)
    return dims[axis] if dims and -len(dims) <= axis < len(dims) else None


def _is_integer(ctx: Relate, at: int, found: TensorType, legal: Sequence[str]) -> None:
    if str(found.dtype) not in legal:
        raise ctx.fail(f"operand {at} is of {found.dtype}", ", ".join(legal))


def _quantize_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    if not str(x.dtype).startswith("float"):
        raise ctx.fail(f"{x.dtype} is quantized", "floats")
    _result_dtype(ctx, ("int8", "uint8", "int16", "uint16", "int32"))
    _parameters(ctx, 1, 2, _channels(x, int(ctx.attrs.axis)))
    return TensorType(x.shape, ctx.attrs.out_dtype)


def _result_dtype(ctx: Relate, legal: Sequence[str]) -> None:
    if str(ctx.attrs.out_dtype) not in legal:
        raise ctx.fail(f"the result is of {ctx.attrs.out_dtype}", ", ".join(legal))


def _dequantize_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    _is_integer(ctx, 0, x, ("int8", "uint8", "int16", "uint16", "int32"))
    _parameters(ctx, 1, 2, _channels(x, int(ctx.attrs.axis)))
    return TensorType(x.shape, ctx.attrs.out_dtype)


def _requantize_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    _is_integer(ctx, 0, x, _INTS)
    _result_dtype(ctx, ("int8", "uint8", "int16", "int32"))
    _parameters(ctx, 1, 2, _channels(x, int(ctx.attrs.axis)))
    _parameters(ctx, 3, 4, 1)
    return TensorType(x.shape, ctx.attrs.out_dtype)


@relay_op("qnn.quantize", "QuantizeAttrs", operands=("data", "output_scale", "output_zero_point"),
          relation=_quantize_type, pattern=ELEMWISE, level=11,
          first=("out_dtype",), optional={"out_dtype": REQUIRED, "axis": -1})  # fmt: skip
def quantize(
    data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1,
    out_dtype: str = "int8",
) -> Call:  # fmt: skip
    """Real numbers as integers: round(x / scale) + zero point."""
    return quantize.call(data, output_scale, output_zero_point, axis=axis, out_dtype=out_dtype)


@relay_op("qnn.dequantize", "DequantizeAttrs", relation=_dequantize_type, pattern=ELEMWISE,
          operands=("data", "input_scale", "input_zero_point"), level=11,
          first=("out_dtype",), optional={"out_dtype": REQUIRED})  # fmt: skip
def dequantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1,
    out_dtype: str = "float32",
) -> Call:  # fmt: skip
    """What integers stand for: (x - zero point) * scale."""
    return dequantize.call(data, input_scale, input_zero_point, axis=axis, out_dtype=out_dtype)


@relay_op("qnn.requantize", "RequantizeAttrs", relation=_requantize_type, pattern=ELEMWISE,
          operands=("data", "input_scale", "input_zero_point", "output_scale",
                    "output_zero_point"), level=11, optional={"out_dtype": ""})  # fmt: skip
def requantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, output_scale: Expr,
    output_zero_point: Expr, axis: int = -1, rounding: str = "None",
    compute_dtype: str = "None", out_dtype: str = "int8",
) -> Call:  # fmt: skip
    """Integers of one scale and zero point as integers of another."""
    return requantize.call(
        data, input_scale, input_zero_point, output_scale, output_zero_point, axis=axis,
        rounding=rounding, compute_dtype=compute_dtype, out_dtype=out_dtype,
    )  # fmt: skip


# the types that a simulation may be asked for, by the number that says so at run time
SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}


def _code(dtype: Any) -> Any:
    if not isinstance(dtype, str):
        return dtype
    if dtype not in SQNN_DTYPE_TO_CODE:
        raise ValueError(f"no simulation of {dtype!r}; legal: {', '.join(SQNN_DTYPE_TO_CODE)}")
    return const(SQNN_DTYPE_TO_CODE[dtype], "int32")


def _simulated(name: str, func: Callable[..., Any]) -> Callable[..., Call]:
    @relay_op(name, "SimulatedQuantizeAttrs" if "_de" not in name else "DequantizeAttrs",
              operands=("data", "code", "scale", "zero"), relation=lambda ctx: tensor(ctx, 0),
              pattern=ELEMWISE, level=11, hidden=("axis",), optional={"axis": -1},
              lower=lambda bb, x, code, s, z, **o: te(func)(bb, x, code, s, z, axis=o["axis"])
              )  # fmt: skip
    def made(data: Expr, code: Expr, scale: Expr, zero: Expr, axis: int = -1) -> Call:
        """Quantization with numbers that stay real; the type is a value of the program."""
        return made.call(data, code, scale, zero, axis=axis, **more)

    more = {"out_dtype": ""} if "_de" in name else {}  # a field of what it shares the options with
    return made


_simulated_quantize = _simulated("qnn.simulated_quantize", topi.nn.simulated_quantize)
_simulated_dequantize = _simulated("qnn.simulated_dequantize", topi.nn.simulated_dequantize)


def simulated_quantize(
    data: Expr, output_scale: Expr, output_zero_point: Expr, axis: int = -1,
    out_dtype: Any = "int8",
) -> Call:  # fmt: skip
    """As `quantize`, with real numbers for a result; `out_dtype` may be a value of the program."""
    scale, zero = R.reshape(output_scale, [-1]), R.reshape(output_zero_point, [-1])
    return _simulated_quantize(data, _code(out_dtype), scale, zero, axis)


def simulated_dequantize(
    data: Expr, input_scale: Expr, input_zero_point: Expr, axis: int = -1, in_dtype: Any = "int8"
) -> Call:
    """As `dequantize`, of real numbers; `in_dtype` may be a value of the program."""
    scale, zero = R.reshape(input_scale, [-1]), R.reshape(input_zero_point, [-1])
    return _simulated_dequantize(data, _code(in_dtype), scale, zero, axis)


# --- products ---


def _product_type(name: str) -> Callable[[Relate], Type | None]:
    plain: Any = None

    def rule(ctx: Relate) -> Type | None:
        from tvm.ir.op import Op

        nonlocal plain
        plain = plain or Op.get(name).get_attr("FRelayType")
        x = tensor(ctx, 0)
        if x is None:
            return None
        _is_integer(ctx, 0, x, ("int8", "uint8", "int16"))
        _result_dtype(ctx, ("int16", "int32", "int64"))
        inner = Relate(ctx.call, ctx.types[:2], lambda at, t: ctx.assign(at, t))
        found: Type | None = plain(inner)
        if found is not None:
            _parameters(ctx, 4, 2, 1)
            _parameters(ctx, 5, 3, _units(ctx))
        return found

    return rule


def _units(ctx: Relate) -> Any:
    """How many filters, rows or columns of the kernel have a scale each."""
    kernel = tensor(ctx, 1)
    assert kernel is not None, "the product has a type"
    layout = getattr(ctx.attrs, "kernel_layout", None)
    if layout is None:
        return extents(kernel)[0] if len(kernel.shape) == 2 else 1
    letters = "".join(s for s in layout if s.isalpha())
    sizes = extents(kernel)
    outputs = sizes[letters.index("O")]
    multiplier = sizes[letters.index("I")] if int(ctx.attrs.groups) > 1 else 1
    given = tensor(ctx, 5)
    many = given is not None and extents(given) == [outputs * multiplier]
    return outputs * multiplier if many else outputs


_PRODUCT = ("data", "kernel", "input_zero_point", "kernel_zero_point", "input_scale",
            "kernel_scale")  # fmt: skip


def _conv_options(call: Call) -> dict[str, Any]:
    """The options as the plain operator writes them."""
    return dict(call.attrs.items())  # type: ignore[union-attr]


@relay_op("qnn.conv2d", "Conv2DAttrs", operands=_PRODUCT, relation=_product_type("nn.conv2d"),
          pattern=OUT_FUSABLE, level=11)  # fmt: skip
def conv2d(
    data: Expr, kernel: Expr, input_zero_point: Expr, kernel_zero_point: Expr,
    input_scale: Expr, kernel_scale: Expr, kernel_size: Any, channels: Any,
    strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
    data_layout: str = "NCHW", kernel_layout: str = "OIHW", out_layout: str = "",
    out_dtype: str = "int32",
) -> Call:  # fmt: skip
    """A convolution of quantized images; the result's scale is the product of the scales."""
    plain = plain_conv2d(
        data, kernel, strides, padding, dilation, groups, channels, kernel_size, data_layout,
        kernel_layout, out_layout, out_dtype,
    )  # fmt: skip
    return conv2d.call(
        data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale,
        **_conv_options(plain),
    )  # fmt: skip


@relay_op("qnn.conv2d_transpose", "Conv2DTransposeAttrs", level=11, pattern=OUT_FUSABLE,
          operands=("data", "weight", *_PRODUCT[2:]),
          relation=_product_type("nn.conv2d_transpose"))  # fmt: skip
def conv2d_transpose(
    data: Expr, weight: Expr, input_zero_point: Expr, kernel_zero_point: Expr,
    input_scale: Expr, kernel_scale: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), groups: int = 1, channels: Any = None, kernel_size: Any = None,
    data_layout: str = "NCHW", kernel_layout: str = "IOHW", out_layout: str = "",
    output_padding: Any = (0, 0), out_dtype: str = "int32",
) -> Call:  # fmt: skip
    """The transpose of a convolution, of quantized images."""
    plain = plain_conv2d_transpose(
        data, weight, strides, padding, dilation, groups, channels, kernel_size, data_layout,
        kernel_layout, out_layout, output_padding, out_dtype,
    )  # fmt: skip
    return conv2d_transpose.call(
        data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale,
        **_conv_options(plain),
    )  # fmt: skip


@relay_op("qnn.dense", "DenseAttrs", operands=("data", "weight", *_PRODUCT[2:]), level=11,
          relation=_product_type("nn.dense"), pattern=OUT_FUSABLE)  # fmt: skip
def dense(
    data: Expr, weight: Expr, input_zero_point: Expr, kernel_zero_point: Expr,
    input_scale: Expr, kernel_scale: Expr, units: Any, out_dtype: str = "int32",
) -> Call:  # fmt: skip
    """The product of quantized matrices, the second one turned."""
    return dense.call(
        data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale,
        units=None if units is None else int(units), out_dtype=out_dtype,
    )  # fmt: skip


def _packed_type(ctx: Relate) -> Type | None:
    x, weight = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or weight is None:
        return None
    _is_integer(ctx, 0, x, ("int8", "uint8"))
    letters = [letter for letter in ctx.attrs.weight_layout.lower() if letter.isalpha()]
    sizes, have = {"n": 1, "c": 1}, extents(weight)
    if len(letters) != len(have) or not set(letters) <= set(sizes):
        legal = f"those of {ctx.attrs.weight_layout}"
        raise ctx.fail(f"the weight has {len(have)} dimensions", legal)
    for letter, extent in zip(letters, have):
        sizes[letter] *= int(extent)
    dims, units = extents(x), ctx.attrs.units
    if len(dims) != 2 or dims[1] != sizes["c"]:
        raise ctx.fail(f"a weight of {sizes['c']} columns, data {dims}", "equal numbers")
    if units is not None and int(units) != sizes["n"]:
        raise ctx.fail(f"units {units} is not that of the weight", f"units={sizes['n']}")
    _parameters(ctx, 4, 2, 1)
    _parameters(ctx, 5, 3, sizes["n"])
    return TensorType([dims[0], sizes["n"]], ctx.attrs.out_dtype)


@relay_op("qnn.contrib_dense_pack", "DensePackAttrs", level=11, pattern=OUT_FUSABLE,
          operands=("data", "weight", *_PRODUCT[2:]), relation=_packed_type,
          hidden=("kernel_layout",), optional={"weight_layout": "NC"})  # fmt: skip
def contrib_dense_pack(
    data: Expr, weight: Expr, input_zero_point: Expr, kernel_zero_point: Expr,
    input_scale: Expr, kernel_scale: Expr, kernel_layout: str = "NC", units: Any = None,
    out_dtype: str = "int32",
) -> Call:  # fmt: skip
    """`dense` whose weight lies in blocks, as `kernel_layout` says: "NC32n4c", for example."""
    return contrib_dense_pack.call(
        data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale,
        weight_layout=kernel_layout, units=None if units is None else int(units),
        out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("qnn.batch_matmul", "BatchMatmulAttrs", level=11, pattern=OUT_FUSABLE,
          operands=("x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale"),
          relation=_product_type("nn.batch_matmul"))  # fmt: skip
def batch_matmul(
    x: Expr, y: Expr, x_zero_point: Expr, y_zero_point: Expr, x_scale: Expr, y_scale: Expr,
    out_dtype: str = "int32",
) -> Call:  # fmt: skip
    """Products of quantized matrices, one pair a batch; the second ones are turned."""
    return batch_matmul.call(
        x, y, x_zero_point, y_zero_point, x_scale, y_scale, out_dtype=out_dtype,
        transpose_a=False, transpose_b=True,
    )  # fmt: skip


# --- two operands ---


def _binary_type(ctx: Relate) -> Type | None:
    a, b = tensor(ctx, 0), tensor(ctx, 1)
    if a is None or b is None:
        return None
    if a.dtype != b.dtype:
        raise ctx.fail("data types do not match", "operands of one data type")
    _is_integer(ctx, 0, a, ("int8", "uint8", "int16", "int32"))
    _parameters(ctx, 2, 3, _channels(a, int(ctx.attrs.lhs_axis)))
    _parameters(ctx, 4, 5, _channels(b, int(ctx.attrs.rhs_axis)))
    _parameters(ctx, 6, 7, 1)
    return TensorType(broadcast_extents(ctx, extents(a), extents(b)), a.dtype)


def _binary(name: str, doc: str) -> Callable[..., Call]:
    def build(
        lhs: Expr, rhs: Expr, lhs_scale: Expr, lhs_zero_point: Expr, rhs_scale: Expr,
        rhs_zero_point: Expr, output_scale: Expr, output_zero_point: Expr, lhs_axis: int = -1,
        rhs_axis: int = -1,
    ) -> Call:  # fmt: skip
        return made.call(
            lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale,
            output_zero_point, lhs_axis=lhs_axis, rhs_axis=rhs_axis,
        )  # fmt: skip

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    made = relay_op(f"qnn.{name}", "BroadcastAttrs", relation=_binary_type, pattern=BROADCAST,
                    level=11)(build)  # fmt: skip
    return made


add = _binary("add", "The sum of quantized tensors.")
subtract = _binary("subtract", "The difference of quantized tensors.")
mul = _binary("mul", "The product of quantized tensors, element by element.")


# --- one operand ---


def _unary_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    _is_integer(ctx, 0, x, ("int8", "uint8", "int16", "int32"))
    _parameters(ctx, 1, 2, 1)
    _parameters(ctx, 3, 4, 1)
    return x


def _unary(name: str, doc: str, function: Callable[[Any], Any]) -> Callable[..., Call]:
    def build(
        x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr
    ) -> Call:
        return made.call(x, scale, zero_point, output_scale, output_zero_point)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    made = relay_op(f"qnn.{name}", relation=_unary_type, pattern=ELEMWISE, level=11)(build)
    register_qnn_canonicalize(f"qnn.{name}", elementwise.by_reals(function))
    return made


tanh = _unary("tanh", "The hyperbolic tangent of a quantized tensor.", R.tanh)
exp = _unary("exp", "The exponential of a quantized tensor.", R.exp)
sqrt = _unary("sqrt", "The square root of a quantized tensor.", R.sqrt)
rsqrt = _unary("rsqrt", "One over the square root of a quantized tensor.", R.rsqrt)
erf = _unary("erf", "The error function of a quantized tensor.", R.erf)
abs = _unary("abs", "The absolute value of a quantized tensor.", R.abs)
sigmoid = _unary("sigmoid", "The logistic function of a quantized tensor.", R.sigmoid)
hardswish = _unary("hardswish", "x * clip(x + 3, 0, 6) / 6 of a quantized tensor.",
                   elementwise.hardswish)  # fmt: skip
log = _unary("log", "The logarithm of a quantized tensor.", R.log)


@relay_op("qnn.leaky_relu", "LeakyReluAttrs", relation=_unary_type, pattern=ELEMWISE, level=11,
          operands=("x", "input_scale", "input_zero_point", "output_scale", "output_zero_point"),
          optional={"alpha": REQUIRED})  # fmt: skip
def leaky_relu(
    x: Expr, alpha: Any, input_scale: Expr, input_zero_point: Expr, output_scale: Expr,
    output_zero_point: Expr,
) -> Call:  # fmt: skip
    """Quantized numbers, those that stand for negative ones times `alpha`."""
    return leaky_relu.call(
        x, input_scale, input_zero_point, output_scale, output_zero_point, alpha=float(alpha)
    )


@relay_op("qnn.softmax", "SoftmaxAttrs", relation=_unary_type, pattern=OUT_FUSABLE, level=11,
          operands=("x", "scale", "zero_point", "output_scale", "output_zero_point"))  # fmt: skip
def softmax(
    x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr,
    axis: int = -1,
) -> Call:  # fmt: skip
    """The softmax of a quantized tensor along an axis."""
    return softmax.call(x, scale, zero_point, output_scale, output_zero_point, axis=axis)


def _pool_type(ctx: Relate) -> Type | None:
    from tvm.ir.op import Op

    x = tensor(ctx, 0)
    if x is None:
        return None
    _is_integer(ctx, 0, x, ("int8", "uint8"))
    _parameters(ctx, 1, 2, 1)
    _parameters(ctx, 3, 4, 1)
    rule = Op.get("nn.avg_pool2d").get_attr("FRelayType")
    found: Type | None = rule(Relate(ctx.call, ctx.types[:1], lambda at, t: None))
    return found


@relay_op("qnn.avg_pool2d", "AvgPool2DAttrs", relation=_pool_type, pattern=OUT_FUSABLE, level=11,
          operands=("data", "input_scale", "input_zero_point", "output_scale",
                    "output_zero_point"))  # fmt: skip
def avg_pool2d(
    data: Expr, input_scale: Expr, input_zero_point: Expr, output_scale: Expr,
    output_zero_point: Expr, pool_size: Any, strides: Any, padding: Any, dilation: Any,
    ceil_mode: bool = False, count_include_pad: bool = True, layout: str = "NHWC",
    out_layout: str = "",
) -> Call:  # fmt: skip
    """The mean of each window of quantized images."""
    plain = nn.avg_pool2d(
        data, pool_size, strides, dilation, padding, layout, out_layout, ceil_mode,
        count_include_pad,
    )  # fmt: skip
    return avg_pool2d.call(
        data, input_scale, input_zero_point, output_scale, output_zero_point,
        **_conv_options(plain),
    )  # fmt: skip


def _concat_type(ctx: Relate) -> Type | None:
    from tvm.ir.op import Op

    if tensors(ctx, 0) is None:
        return None
    for at, dtype in ((1, "float32"), (2, "int32")):
        fields = tensors(ctx, at)
        if fields is None:
            count = len(tensors(ctx, 0) or ())
            ctx.assign(at, TupleType([TensorType((), dtype)] * count))
        elif len(fields) != len(tensors(ctx, 0) or ()):
            raise ctx.fail(f"operand {at} has {len(fields)} fields", "one for each tensor")
        elif any(str(f.dtype) != dtype for f in fields):
            raise ctx.fail(f"a field of operand {at} has another type", dtype)
    _parameters(ctx, 3, 4, 1)
    rule = Op.get("concatenate").get_attr("FRelayType")
    found: Type | None = rule(Relate(ctx.call, ctx.types[:1], lambda at, t: None))
    return found


@relay_op("qnn.concatenate", "ConcatenateAttrs", relation=_concat_type, pattern=INJECTIVE,
          operands=("data", "input_scales", "input_zero_points", "output_scale",
                    "output_zero_point"), level=11)  # fmt: skip
def concatenate(
    data: Any, input_scales: Any, input_zero_points: Any, output_scale: Expr,
    output_zero_point: Expr, axis: int,
) -> Call:  # fmt: skip
    """Quantized tensors joined, with the scale and zero point of the result."""
    parts = data.astuple() if isinstance(data, TupleWrapper) else data
    if not parts:
        raise ValueError("relay.concatenate requires data to be non-empty.")
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return concatenate.call(
        parts, input_scales, input_zero_points, output_scale, output_zero_point, axis=axis
    )


for _name, _rule in (
    ("quantize", scales.quantized), ("dequantize", scales.dequantized),
    ("requantize", scales.requantized_call), ("conv2d", products.convolution("nn.conv2d")),
    ("conv2d_transpose", products.convolution("nn.conv2d_transpose")),
    ("dense", products.dense), ("contrib_dense_pack", products.dense_pack),
    ("batch_matmul", products.batch_matmul),
    ("add", elementwise.add), ("subtract", elementwise.subtract), ("mul", elementwise.mul),
    ("concatenate", elementwise.concatenate), ("leaky_relu", elementwise.leaky_relu),
    ("softmax", elementwise.by_reals(elementwise.softmax)),  # type: ignore[arg-type]
    ("avg_pool2d", elementwise.avg_pool2d),
):  # fmt: skip
    register_qnn_canonicalize(f"qnn.{_name}", _rule)

layout_conversions.register_qnn_rules()
