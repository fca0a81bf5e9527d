"""Gradients of operators: for the gradient of a result, those of the operands.

A rule takes the call (with types) and the gradient of its result, and gives one expression an
operand. Gradients of stretched operands are summed back to their shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.op import Op
from tvm.relay.expr import Tuple, TupleGetItem, const
from tvm.relay.ty import TensorType

from . import nn, reduce, tensor, transform
from .nn.utils import all_sides
from .reduce import reduced_axes

Rule = Callable[[Any, Any], list[Any]]


def gradient_of(*names: str) -> Callable[[Rule], Rule]:
    """Hang a rule on operators."""

    def decorate(rule: Rule) -> Rule:
        for name in names:
            Op.get(name).set_attr("FPrimalGradient", rule, 5)  # users' rules go first
        return rule

    return decorate


def _type(expr: Any) -> TensorType:
    found = expr.checked_type
    assert isinstance(found, TensorType), "gradients are of tensors"
    return found


def _number(value: float, like: Any) -> Any:
    return const(value, _type(like).dtype)


def _back(grad: Any, operand: Any) -> Any:
    """A gradient summed to the shape of an operand that was stretched."""
    return transform.collapse_sum_like(grad, operand)


def _unary(name: str, slope: Callable[[Any, Any], Any]) -> None:
    """The gradient of a function of single elements, by `slope(x, y)`."""
    gradient_of(name)(lambda orig, grad: [tensor.multiply(grad, slope(orig.args[0], orig))])


_unary("log", lambda x, y: tensor.divide(_number(1, x), x))
_unary("log2", lambda x, y: tensor.divide(_number(1.4426950408889634, x), x))
_unary("log10", lambda x, y: tensor.divide(_number(0.4342944819032518, x), x))
_unary("exp", lambda x, y: y)
_unary("sin", lambda x, y: tensor.cos(x))
_unary("cos", lambda x, y: tensor.negative(tensor.sin(x)))
_unary("tan", lambda x, y: _number(1, x) + y * y)
_unary("sinh", lambda x, y: tensor.cosh(x))
_unary("cosh", lambda x, y: tensor.sinh(x))
_unary("tanh", lambda x, y: _number(1, x) - y * y)
_unary("sigmoid", lambda x, y: y * (_number(1, x) - y))
_unary("sqrt", lambda x, y: _number(0.5, x) / y)
_unary("rsqrt", lambda x, y: _number(-0.5, x) * y * y * y)
_unary("asin", lambda x, y: tensor.rsqrt(_number(1, x) - x * x))
_unary("acos", lambda x, y: tensor.negative(tensor.rsqrt(_number(1, x) - x * x)))
_unary("atan", lambda x, y: _number(1, x) / (_number(1, x) + x * x))
_unary("asinh", lambda x, y: tensor.rsqrt(_number(1, x) + x * x))
_unary("acosh", lambda x, y: tensor.rsqrt(x * x - _number(1, x)))
_unary("atanh", lambda x, y: _number(1, x) / (_number(1, x) - x * x))
_unary("abs", lambda x, y: tensor.sign(x))
_unary(
    "erf", lambda x, y: _number(1.1283791670955126, x) * tensor.exp(tensor.negative(x * x))
)  # two over the root of pi
_unary("nn.relu", lambda x, y: transform.cast_like(tensor.greater(x, tensor.zeros_like(x)), x))


@gradient_of("negative")
def _negative(orig: Any, grad: Any) -> list[Any]:
    return [tensor.negative(grad)]


@gradient_of("copy", "annotation.checkpoint", "annotation.stop_fusion")
def _same(orig: Any, grad: Any) -> list[Any]:
    return [grad]


@gradient_of("zeros_like", "ones_like", "shape_of", "floor", "ceil", "round", "trunc", "sign")
def _flat(orig: Any, grad: Any) -> list[Any]:
    return [tensor.zeros_like(orig.args[0])]


@gradient_of("zeros", "ones", "full", "arange", "dyn.zeros", "dyn.ones", "dyn.full")
@gradient_of("full_like", "argmax", "argmin", "one_hot", "unravel_index", "ndarray_size")
@gradient_of("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
def _no_slope(orig: Any, grad: Any) -> list[Any]:
    return [tensor.zeros_like(arg) for arg in orig.args]


@gradient_of("add")
def _add(orig: Any, grad: Any) -> list[Any]:
    return [_back(grad, arg) for arg in orig.args]


@gradient_of("subtract")
def _subtract(orig: Any, grad: Any) -> list[Any]:
    a, b = orig.args
    return [_back(grad, a), _back(tensor.negative(grad), b)]


@gradient_of("multiply")
def _multiply(orig: Any, grad: Any) -> list[Any]:
    a, b = orig.args
    return [_back(grad * b, a), _back(grad * a, b)]


@gradient_of("divide")
def _divide(orig: Any, grad: Any) -> list[Any]:
    a, b = orig.args
    return [_back(grad / b, a), _back(tensor.negative(grad * orig / b), b)]


@gradient_of("power")
def _power(orig: Any, grad: Any) -> list[Any]:
    a, b = orig.args
    return [_back(grad * b * orig / a, a), _back(grad * orig * tensor.log(a), b)]


def _chosen(compare: Any) -> Rule:
    def rule(orig: Any, grad: Any) -> list[Any]:
        a, b = orig.args
        first, second = compare(a, b), compare(b, a)
        return [
            _back(grad * transform.cast_like(first, grad), a),
            _back(grad * transform.cast_like(second, grad), b),
        ]

    return rule


gradient_of("maximum")(_chosen(tensor.greater))
gradient_of("minimum")(_chosen(tensor.less))


@gradient_of("clip")
def _clip(orig: Any, grad: Any) -> list[Any]:
    x, o = orig.args[0], orig.attrs
    inside = tensor.logical_and(
        tensor.greater_equal(x, _number(o.a_min, x)), tensor.less_equal(x, _number(o.a_max, x))
    )
    return [grad * transform.cast_like(inside, grad)]


@gradient_of("where")
def _where(orig: Any, grad: Any) -> list[Any]:
    cond, x, y = orig.args
    nothing = tensor.zeros_like(grad)
    return [
        tensor.zeros_like(cond), _back(transform.where(cond, grad, nothing), x),
        _back(transform.where(cond, nothing, grad), y),
    ]  # fmt: skip


@gradient_of("cast")
def _cast(orig: Any, grad: Any) -> list[Any]:
    return [transform.cast_like(grad, orig.args[0])]


@gradient_of("cast_like")
def _cast_like(orig: Any, grad: Any) -> list[Any]:
    x, like = orig.args
    return [transform.cast_like(grad, x), tensor.zeros_like(like)]


@gradient_of("reshape_like", "dyn.reshape")
def _reshape_like(orig: Any, grad: Any) -> list[Any]:
    x, shape = orig.args
    return [transform.reshape_like(grad, x), tensor.zeros_like(shape)]


@gradient_of("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "contrib_reverse_reshape")
def _reshape(orig: Any, grad: Any) -> list[Any]:
    return [transform.reshape_like(grad, orig.args[0])]


@gradient_of("transpose")
def _transpose(orig: Any, grad: Any) -> list[Any]:
    axes = orig.attrs.axes
    if axes is None:
        return [transform.transpose(grad)]
    rank = len(axes)
    inverse = [0] * rank
    for at, axis in enumerate(axes):
        inverse[int(axis) % rank] = at
    return [transform.transpose(grad, inverse)]


@gradient_of("layout_transform")
def _layout_transform(orig: Any, grad: Any) -> list[Any]:
    """The gradient in the layout of the operand, all of whose elements are in the result."""
    x, o = orig.args[0], orig.attrs
    shapes = [_type(one).concrete_shape for one in (x, orig)]
    if math.prod(shapes[0]) != math.prod(shapes[1]):
        raise TVMError(
            message(
                "gradient of layout_transform", found=f"{shapes[0]} as {shapes[1]}",
                legal="blocks that divide their axes",
            )
        )
    return [transform.layout_transform(grad, o.dst_layout, o.src_layout)]


@gradient_of("nn.pad")
def _pad(orig: Any, grad: Any) -> list[Any]:
    """What lies on the data, and for the border's value the sum over the border."""
    (x, value), o = orig.args, orig.attrs
    if str(o.pad_mode) != "constant":
        raise TVMError(
            message("gradient of nn.pad", found=f"pad_mode {o.pad_mode!r}", legal="'constant'")
        )
    begins = [int(before) for before, _ in o.pad_width]
    ends = [at + extent for at, extent in zip(begins, _type(x).concrete_shape)]
    inner = transform.strided_slice(grad, begins, ends)
    border = transform.cast_like(reduce.sum(grad) - reduce.sum(inner), value)
    return [inner, transform.reshape_like(border, value)]


@gradient_of("nn.leaky_relu")
def _leaky_relu(orig: Any, grad: Any) -> list[Any]:
    x = orig.args[0]
    positive = tensor.greater(x, tensor.zeros_like(x))
    return [transform.where(positive, grad, grad * _number(float(orig.attrs.alpha), orig))]


@gradient_of("broadcast_to", "broadcast_to_like")
def _broadcast(orig: Any, grad: Any) -> list[Any]:
    rest = [tensor.zeros_like(arg) for arg in orig.args[1:]]
    return [_back(grad, orig.args[0]), *rest]


@gradient_of("collapse_sum_like", "collapse_sum_to")
def _collapse(orig: Any, grad: Any) -> list[Any]:
    rest = [tensor.zeros_like(arg) for arg in orig.args[1:]]
    return [transform.broadcast_to_like(grad, orig.args[0]), *rest]


def _spread(orig: Any, grad: Any) -> Any:
    """The gradient of a reduction over the elements that went into it."""
    x, o = orig.args[0], orig.attrs
    dims = list(_type(x).concrete_shape)
    for axis in reduced_axes(len(dims), o.axis, o.exclude):
        dims[axis] = 1
    return transform.broadcast_to_like(transform.reshape(grad, dims), x)


@gradient_of("sum")
def _sum(orig: Any, grad: Any) -> list[Any]:
    return [_spread(orig, grad)]


@gradient_of("mean")
def _mean(orig: Any, grad: Any) -> list[Any]:
    before, after = _type(orig.args[0]).concrete_shape, _type(orig).concrete_shape
    count = 1.0
    for extent in before:
        count *= extent
    for extent in after:
        count /= extent
    return [_spread(orig, grad) / _number(count, orig)]


@gradient_of("variance")
def _variance(orig: Any, grad: Any) -> list[Any]:
    """Operands: the data, and its mean with the reduced axes kept."""
    x, mean = orig.args
    before, after = _type(x).concrete_shape, _type(orig).concrete_shape
    count = float(math.prod(before)) / math.prod(after)
    if orig.attrs.unbiased:
        count -= 1
    off = x - mean
    slope = _number(2.0 / count, x) * off
    into_mean = reduce.sum(
        tensor.negative(_spread(orig, grad) * slope), orig.attrs.axis, True, orig.attrs.exclude
    )
    return [_spread(orig, grad) * slope, into_mean]


@gradient_of("max", "min")
def _extreme(orig: Any, grad: Any) -> list[Any]:
    """The elements that are the extreme share the gradient."""
    here = transform.cast_like(tensor.equal(orig.args[0], _spread(orig, orig)), grad)
    count = reduce.sum(here, orig.attrs.axis, orig.attrs.keepdims, orig.attrs.exclude)
    return [_spread(orig, grad / count) * here]


@gradient_of("nn.softmax")
def _softmax(orig: Any, grad: Any) -> list[Any]:
    total = reduce.sum(grad * orig, orig.attrs.axis, True)
    return [(grad - total) * orig]


@gradient_of("nn.log_softmax")
def _log_softmax(orig: Any, grad: Any) -> list[Any]:
    return [grad - reduce.sum(grad, orig.attrs.axis, True) * tensor.exp(orig)]


@gradient_of("nn.bias_add")
def _bias_add(orig: Any, grad: Any) -> list[Any]:
    return [grad, reduce.sum(grad, [int(orig.attrs.axis)], False, True)]


@gradient_of("nn.dense")
def _dense(orig: Any, grad: Any) -> list[Any]:
    x, w = orig.args
    rows = transform.reshape(grad, (-1, _type(w).concrete_shape[0]))
    columns = transform.reshape(x, (-1, _type(w).concrete_shape[1]))
    into_x = nn.dense(grad, transform.transpose(w, (1, 0)))
    return [into_x, nn.dense(transform.transpose(rows, (1, 0)), transform.transpose(columns))]


@gradient_of("nn.matmul")
def _matmul(orig: Any, grad: Any) -> list[Any]:
    a, b = orig.args
    ta, tb = bool(orig.attrs.transpose_a), bool(orig.attrs.transpose_b)
    into_a = nn.matmul(b, grad, transpose_a=tb, transpose_b=True) if ta else (
        nn.matmul(grad, b, transpose_b=not tb)
    )
    into_b = nn.matmul(grad, a, transpose_a=True, transpose_b=ta) if tb else (
        nn.matmul(a, grad, transpose_a=not ta)
    )
    return [into_a, into_b]


@gradient_of("nn.batch_matmul")
def _batch_matmul(orig: Any, grad: Any) -> list[Any]:
    a, b = orig.args
    ta, tb = bool(orig.attrs.transpose_a), bool(orig.attrs.transpose_b)
    product = nn.batch_matmul
    into_a = (
        product(b, grad, "", tb, True) if ta else product(grad, b, "", False, not tb)
    )
    into_b = (
        product(grad, a, "", True, ta) if tb else product(a, grad, "", not ta, False)
    )
    return [_back(into_a, a), _back(into_b, b)]


@gradient_of("nn.max_pool2d")
def _max_pool(orig: Any, grad: Any) -> list[Any]:
    o = orig.attrs
    made = nn.max_pool2d_grad(
        grad, orig.args[0], o.pool_size, o.strides, o.padding, o.layout, o.out_layout, o.ceil_mode
    )
    return [made]


@gradient_of("nn.avg_pool2d")
def _avg_pool(orig: Any, grad: Any) -> list[Any]:
    o = orig.attrs
    made = nn.avg_pool2d_grad(
        grad, orig.args[0], o.pool_size, o.strides, o.padding, o.layout, o.out_layout, o.ceil_mode,
        o.count_include_pad,
    )  # fmt: skip
    return [made]


@gradient_of("nn.global_avg_pool2d")
def _global_avg_pool(orig: Any, grad: Any) -> list[Any]:
    x = orig.args[0]
    layout, shape = str(orig.attrs.layout), _type(x).concrete_shape
    extents = [shape[layout.index("H")], shape[layout.index("W")]]
    return [nn.avg_pool2d_grad(grad, x, extents, (1, 1), (0, 0), layout)]


@gradient_of("nn.conv2d")
def _conv2d(orig: Any, grad: Any) -> list[Any]:
    """The operands' gradients: a transposed convolution, and one of the data with the gradient."""
    x, w = orig.args
    o = orig.attrs
    if str(o.data_layout) != "NCHW" or str(o.kernel_layout) != "OIHW":
        raise TVMError(
            message(
                "gradient: nn.conv2d in another layout",
                found=f"{o.data_layout}, {o.kernel_layout}", legal="NCHW, OIHW; ConvertLayout",
            )
        )  # fmt: skip
    data, out, kernel = (_type(e).concrete_shape for e in (x, orig, w))
    stride, dilation = [int(s) for s in o.strides], [int(d) for d in o.dilation]
    padding, groups = list(all_sides(o.padding, 2)), int(o.groups)
    # what the window leaves over at the end of an axis has a gradient too
    over = [
        data[2 + i] + padding[i] + padding[2 + i] - (dilation[i] * (kernel[2 + i] - 1) + 1)
        - (out[2 + i] - 1) * stride[i]
        for i in (0, 1)
    ]  # fmt: skip
    into_x = nn.conv2d_transpose(
        grad, w, stride, padding, dilation, groups, data[1], kernel[2:], output_padding=over
    )
    parts = [
        _into_weight(x_part, g_part, o, kernel[2:])
        for x_part, g_part in zip(_channels(x, groups), _channels(grad, groups))
    ]
    into_w = parts[0] if groups == 1 else tensor.concatenate(parts, 0)
    return [into_x, into_w]


def _channels(value: Any, groups: int) -> list[Any]:
    if groups == 1:
        return [value]
    parts = transform.split(value, groups, 1)
    return [parts[at] for at in range(groups)]


def _into_weight(x: Any, grad: Any, o: Any, kernel: Any) -> Any:
    """(n, c, h, w), (n, k, p, q) -> (k, c, *kernel): batch and channels change their parts."""
    by, on = (transform.transpose(e, (1, 0, 2, 3)) for e in (x, grad))
    made = nn.conv2d(by, on, o.dilation, o.padding, o.strides)
    made = transform.strided_slice(made, (0, 0), kernel, axes=[2, 3])  # strides may read past it
    return transform.transpose(made, (1, 0, 2, 3))


@gradient_of("nn.cross_entropy")
def _cross_entropy(orig: Any, grad: Any) -> list[Any]:
    x, y = orig.args
    rows = _number(_type(x).concrete_shape[0], x)
    return [tensor.negative(grad * y / x / rows), tensor.negative(grad * tensor.log(x) / rows)]


@gradient_of("nn.cross_entropy_with_logits")
def _cross_entropy_with_logits(orig: Any, grad: Any) -> list[Any]:
    x, y = orig.args
    rows = _number(_type(x).concrete_shape[0], x)
    return [tensor.negative(grad * y / rows), tensor.negative(grad * x / rows)]


@gradient_of("take")
def _take(orig: Any, grad: Any) -> list[Any]:
    """Each slice gets the sum of the gradients of its copies."""
    x, index = orig.args
    axis = orig.attrs.axis
    shape = _type(x).concrete_shape
    if axis is None:
        x_flat, at = transform.reshape(tensor.zeros_like(x), -1), 0
    else:
        x_flat, at = tensor.zeros_like(x), int(axis) % len(shape)
    rank = len(_type(index).concrete_shape)
    # the axes of the indices in front, then those of the data's other axes
    order = [*range(at, at + rank), *range(at), *range(at + rank, len(_type(orig).shape))]
    moved = transform.transpose(grad, order) if len(order) > 1 else grad
    rows = [at, *[i for i in range(len(shape)) if i != at]] if axis is not None else [0]
    base = transform.transpose(x_flat, rows) if len(rows) > 1 else x_flat
    indices = transform.expand_dims(index, 0)
    summed = transform.scatter_nd(base, indices, moved, "add")
    back = [rows.index(i) for i in range(len(rows))]
    made = transform.transpose(summed, back) if len(rows) > 1 else summed
    return [transform.reshape_like(made, x), tensor.zeros_like(index)]


@gradient_of("gather_nd")
def _gather_nd(orig: Any, grad: Any) -> list[Any]:
    x, index = orig.args
    made = transform.scatter_nd(tensor.zeros_like(x), index, grad, "add")
    return [made, tensor.zeros_like(index)]


@gradient_of("strided_slice")
def _strided_slice(orig: Any, grad: Any) -> list[Any]:
    """The gradient at the indices that were taken, zeros around it."""
    x, o = orig.args[0], orig.attrs
    shape, counts = _type(x).concrete_shape, _type(orig).concrete_shape
    axes = list(range(len(o.begin))) if o.axes is None else [int(a) for a in o.axes]
    strides = [int(stride) for stride in o.strides or ()] or [1]
    strides = strides * len(axes) if len(strides) == 1 else strides
    if str(o.slice_mode) == "size":
        strides = [1] * len(axes)
    begins, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)
    for axis, begin, stride in zip(axes, o.begin, strides):
        axis %= len(shape)
        first = int(begin) + (shape[axis] if int(begin) < 0 else 0)
        first = min(max(first, 0), shape[axis] - (stride < 0))
        if stride < 0:  # the same indices from the other end
            grad = transform.reverse(grad, axis)
            first, stride = first + stride * (counts[axis] - 1), -stride
        begins[axis], steps[axis] = first, stride
        ends[axis] = first + stride * (counts[axis] - 1) + 1
    return [transform.strided_set(tensor.zeros_like(x), grad, begins, ends, steps)]


@gradient_of("concatenate")
def _concatenate(orig: Any, grad: Any) -> list[Any]:
    axis = int(orig.attrs.axis)
    fields = orig.args[0].checked_type.fields
    ends: list[int] = []
    for field in fields[:-1]:
        ends.append((ends[-1] if ends else 0) + field.concrete_shape[axis])
    parts = transform.split(grad, tuple(ends), axis)
    return [Tuple([parts[at] for at in range(len(fields))])]


@gradient_of("stack")
def _stack(orig: Any, grad: Any) -> list[Any]:
    axis = int(orig.attrs.axis)
    count = len(orig.args[0].checked_type.fields)
    parts = transform.split(grad, count, axis)
    return [Tuple([transform.squeeze(parts[at], [axis]) for at in range(count)])]


@gradient_of("split")
def _split(orig: Any, grad: Any) -> list[Any]:
    count = len(orig.checked_type.fields)
    fields = [TupleGetItem(grad, at) for at in range(count)]
    return [tensor.concatenate(fields, int(orig.attrs.axis))]


@gradient_of("nn.dropout")
def _dropout(orig: Any, grad: Any) -> list[Any]:
    return [TupleGetItem(grad, 0)]


