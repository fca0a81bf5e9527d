"""Gradients of operators: for the gradient of a result, those of the operands.

A rule takes the call (with types) and the gradient of its result, and gives one expression an
operand. Gradients of stretched operands are summed back to their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir.op import Op
from tvm.relay.expr import Tuple, TupleGetItem, const
from tvm.relay.ty import TensorType

from . import nn, reduce, tensor, transform
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
    gradient_of(name)(lambda orig, g: [tensor.multiply(g, slope(orig.args[0], orig))])


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
def _negative(orig: Any, g: Any) -> list[Any]:
    return [tensor.negative(g)]


@gradient_of("copy", "annotation.checkpoint", "annotation.stop_fusion")
def _same(orig: Any, g: Any) -> list[Any]:
    return [g]


@gradient_of("zeros_like", "ones_like", "shape_of", "floor", "ceil", "round", "trunc", "sign")
def _flat(orig: Any, g: Any) -> list[Any]:
    return [tensor.zeros_like(orig.args[0])]


@gradient_of("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
def _no_slope(orig: Any, g: Any) -> list[Any]:
    return [tensor.zeros_like(arg) for arg in orig.args]


@gradient_of("add")
def _add(orig: Any, g: Any) -> list[Any]:
    return [_back(g, arg) for arg in orig.args]


@gradient_of("subtract")
def _subtract(orig: Any, g: Any) -> list[Any]:
    a, b = orig.args
    return [_back(g, a), _back(tensor.negative(g), b)]


@gradient_of("multiply")
def _multiply(orig: Any, g: Any) -> list[Any]:
    a, b = orig.args
    return [_back(g * b, a), _back(g * a, b)]


@gradient_of("divide")
def _divide(orig: Any, g: Any) -> list[Any]:
    a, b = orig.args
    return [_back(g / b, a), _back(tensor.negative(g * orig / b), b)]


@gradient_of("power")
def _power(orig: Any, g: Any) -> list[Any]:
    a, b = orig.args
    return [_back(g * b * orig / a, a), _back(g * orig * tensor.log(a), b)]


def _chosen(compare: Any) -> Rule:
    def rule(orig: Any, g: Any) -> list[Any]:
        a, b = orig.args
        first, second = compare(a, b), compare(b, a)
        return [
            _back(g * transform.cast_like(first, g), a),
            _back(g * transform.cast_like(second, g), b),
        ]

    return rule


gradient_of("maximum")(_chosen(tensor.greater))
gradient_of("minimum")(_chosen(tensor.less))


@gradient_of("clip")
def _clip(orig: Any, g: Any) -> list[Any]:
    x, o = orig.args[0], orig.attrs
    inside = tensor.logical_and(
        tensor.greater_equal(x, _number(o.a_min, x)), tensor.less_equal(x, _number(o.a_max, x))
    )
    return [g * transform.cast_like(inside, g)]


@gradient_of("where")
def _where(orig: Any, g: Any) -> list[Any]:
    cond, x, y = orig.args
    nothing = tensor.zeros_like(g)
    return [
        tensor.zeros_like(cond), _back(transform.where(cond, g, nothing), x),
        _back(transform.where(cond, nothing, g), y),
    ]  # fmt: skip


@gradient_of("cast")
def _cast(orig: Any, g: Any) -> list[Any]:
    return [transform.cast_like(g, orig.args[0])]


@gradient_of("reshape", "squeeze", "expand_dims", "nn.batch_flatten")
def _reshape(orig: Any, g: Any) -> list[Any]:
    return [transform.reshape_like(g, orig.args[0])]


@gradient_of("transpose")
def _transpose(orig: Any, g: Any) -> list[Any]:
    axes = orig.attrs.axes
    if axes is None:
        return [transform.transpose(g)]
    rank = len(axes)
    places = [0] * rank
    for at, axis in enumerate(axes):
        places[int(axis) % rank] = at
    return [transform.transpose(g, places)]


@gradient_of("broadcast_to", "broadcast_to_like")
def _broadcast(orig: Any, g: Any) -> list[Any]:
    rest = [tensor.zeros_like(arg) for arg in orig.args[1:]]
    return [_back(g, orig.args[0]), *rest]


@gradient_of("collapse_sum_like", "collapse_sum_to")
def _collapse(orig: Any, g: Any) -> list[Any]:
    rest = [tensor.zeros_like(arg) for arg in orig.args[1:]]
    return [transform.broadcast_to_like(g, orig.args[0]), *rest]


def _spread(orig: Any, g: Any) -> Any:
    """The gradient of a reduction over the elements that went into it."""
    x, o = orig.args[0], orig.attrs
    dims = list(_type(x).concrete_shape)
    for axis in reduced_axes(len(dims), o.axis, o.exclude):
        dims[axis] = 1
    return transform.broadcast_to_like(transform.reshape(g, dims), x)


@gradient_of("sum")
def _sum(orig: Any, g: Any) -> list[Any]:
    return [_spread(orig, g)]


@gradient_of("mean")
def _mean(orig: Any, g: Any) -> list[Any]:
    before, after = _type(orig.args[0]).concrete_shape, _type(orig).concrete_shape
    count = 1.0
    for extent in before:
        count *= extent
    for extent in after:
        count /= extent
    return [_spread(orig, g) / _number(count, orig)]


@gradient_of("max", "min")
def _extreme(orig: Any, g: Any) -> list[Any]:
    """The elements that are the extreme share the gradient."""
    here = transform.cast_like(tensor.equal(orig.args[0], _spread(orig, orig)), g)
    count = reduce.sum(here, orig.attrs.axis, orig.attrs.keepdims, orig.attrs.exclude)
    return [_spread(orig, g / count) * here]


@gradient_of("nn.softmax")
def _softmax(orig: Any, g: Any) -> list[Any]:
    total = reduce.sum(g * orig, orig.attrs.axis, True)
    return [(g - total) * orig]


@gradient_of("nn.log_softmax")
def _log_softmax(orig: Any, g: Any) -> list[Any]:
    return [g - reduce.sum(g, orig.attrs.axis, True) * tensor.exp(orig)]


@gradient_of("nn.bias_add")
def _bias_add(orig: Any, g: Any) -> list[Any]:
    return [g, reduce.sum(g, [int(orig.attrs.axis)], False, True)]


@gradient_of("nn.dense")
def _dense(orig: Any, g: Any) -> list[Any]:
    x, w = orig.args
    rows = transform.reshape(g, (-1, _type(w).concrete_shape[0]))
    columns = transform.reshape(x, (-1, _type(w).concrete_shape[1]))
    into_x = nn.dense(g, transform.transpose(w, (1, 0)))
    return [into_x, nn.dense(transform.transpose(rows, (1, 0)), transform.transpose(columns))]


@gradient_of("nn.batch_matmul")
def _batch_matmul(orig: Any, g: Any) -> list[Any]:
    a, b = orig.args
    ta, tb = bool(orig.attrs.transpose_a), bool(orig.attrs.transpose_b)
    product = nn.batch_matmul
    into_a = (
        product(b, g, "", tb, True) if ta else product(g, b, "", False, not tb)
    )
    into_b = (
        product(g, a, "", True, ta) if tb else product(a, g, "", not ta, False)
    )
    return [_back(into_a, a), _back(into_b, b)]


@gradient_of("nn.max_pool2d")
def _max_pool(orig: Any, g: Any) -> list[Any]:
    o = orig.attrs
    made = nn.max_pool2d_grad(
        g, orig.args[0], o.pool_size, o.strides, o.padding, o.layout, o.out_layout, o.ceil_mode
    )
    return [made]


@gradient_of("nn.avg_pool2d")
def _avg_pool(orig: Any, g: Any) -> list[Any]:
    o = orig.attrs
    made = nn.avg_pool2d_grad(
        g, orig.args[0], o.pool_size, o.strides, o.padding, o.layout, o.out_layout, o.ceil_mode,
        o.count_include_pad,
    )  # fmt: skip
    return [made]


@gradient_of("concatenate")
def _concatenate(orig: Any, g: Any) -> list[Any]:
    axis = int(orig.attrs.axis)
    fields = orig.args[0].checked_type.fields
    ends: list[int] = []
    for field in fields[:-1]:
        ends.append((ends[-1] if ends else 0) + field.concrete_shape[axis])
    parts = transform.split(g, tuple(ends), axis)
    return [Tuple([parts[at] for at in range(len(fields))])]


@gradient_of("stack")
def _stack(orig: Any, g: Any) -> list[Any]:
    axis = int(orig.attrs.axis)
    count = len(orig.args[0].checked_type.fields)
    parts = transform.split(g, count, axis)
    return [Tuple([transform.squeeze(parts[at], [axis]) for at in range(count)])]


@gradient_of("split")
def _split(orig: Any, g: Any) -> list[Any]:
    count = len(orig.checked_type.fields)
    fields = [TupleGetItem(g, at) for at in range(count)]
    return [tensor.concatenate(fields, int(orig.attrs.axis))]


@gradient_of("nn.dropout")
def _dropout(orig: Any, g: Any) -> list[Any]:
    return [TupleGetItem(g, 0)]


