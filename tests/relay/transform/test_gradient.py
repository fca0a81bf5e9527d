"""Gradients: each rule beside differences of the function itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import function_of, value_of
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(4)
ONE = relay.const(True)


def rand(*shape: int, low: float = 0.2, high: float = 0.8) -> Any:
    return RNG.uniform(low, high, shape)


def check(build: Any, *arrays: Any) -> None:
    """Differences of the sum of the result, in float64, beside the gradient."""
    func = function_of(build, arrays)
    made = t.gradient(func)
    body = lambda *args: relay.TupleGetItem(relay.Call(made, args), 1)
    grads, _ = value_of(body, arrays)

    def total(*args: Any) -> float:
        found, _ = value_of(build, args)
        fields = found if isinstance(found, tuple) else (found,)
        return float(sum(field.sum() for field in fields))

    for at, array in enumerate(arrays):
        direction = RNG.uniform(-1, 1, array.shape)
        moved = [list(arrays), list(arrays)]
        for sign, args in zip((1, -1), moved):
            args[at] = array + sign * 1e-5 * direction
        slope = (total(*moved[0]) - total(*moved[1])) / 2e-5
        np.testing.assert_allclose((grads[at] * direction).sum(), slope, rtol=1e-4, atol=1e-6)


UNARY = [
    "log", "log2", "log10", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "sqrt",
    "rsqrt", "asin", "acos", "atan", "asinh", "atanh", "abs", "negative", "copy", "floor",
    "zeros_like",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_element(name: str) -> None:
    check(getattr(relay, name), rand(2, 3))


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum"]
)
def test_functions_of_two_elements(name: str) -> None:
    check(getattr(relay, name), rand(2, 1, 3), rand(4, 1))


X = relay.const(1.0, "float64")
CASES: dict[str, Any] = {
    "relu": (relay.nn.relu, rand(2, 3, low=-1, high=1)),
    "acosh": (relay.acosh, rand(3, low=1.5, high=2)),
    "clip": (lambda x: relay.clip(x, 0.4, 0.6) * x, rand(5)),
    "where": (lambda x, y: relay.where(relay.greater(x, y), x * x, y), rand(2, 3), rand(3)),
    "reshape": (lambda x: relay.exp(relay.reshape(x, (3, 2))), rand(2, 3)),
    "transpose": (lambda x, w: relay.transpose(x, (1, 2, 0)) * w, rand(2, 3, 4), rand(3, 4, 2)),
    "squeeze": (lambda x: relay.exp(relay.squeeze(x, [0])), rand(1, 3)),
    "expand_dims": (lambda x, w: relay.expand_dims(x, 1) * w, rand(2), rand(2, 3)),
    "broadcast_to": (lambda x: relay.exp(relay.broadcast_to(x, (2, 3))), rand(3)),
    "sum": (lambda x: relay.exp(relay.sum(x, axis=1)), rand(2, 3)),
    "mean": (lambda x: relay.exp(relay.mean(x, axis=(0, 2), keepdims=True)), rand(2, 3, 2)),
    "max": (lambda x: relay.max(x, axis=1), rand(2, 3)),
    "min": (lambda x: relay.min(x), rand(2, 3)),
    "softmax": (lambda x, w: relay.nn.softmax(x, 1) * w, rand(2, 3), rand(2, 3)),
    "log_softmax": (lambda x, w: relay.nn.log_softmax(x) * w, rand(2, 3), rand(2, 3)),
    "bias_add": (lambda x, b: relay.exp(relay.nn.bias_add(x, b)), rand(2, 3, 2), rand(3)),
    "dense": (lambda x, w: relay.exp(relay.nn.dense(x, w)), rand(2, 3), rand(4, 3)),
    "batch_matmul": (lambda a, b: relay.exp(relay.nn.batch_matmul(a, b)), rand(2, 3, 2),
                     rand(2, 4, 2)),
    "batch_matmul plain": (
        lambda a, b: relay.exp(relay.nn.batch_matmul(a, b, transpose_b=False)), rand(2, 3, 2),
        rand(2, 2, 4)),
    "concatenate": (lambda a, b: relay.exp(relay.concatenate([a, b], 1)), rand(2, 1), rand(2, 3)),
    "stack": (lambda a, b: relay.exp(relay.stack([a, b], 0)), rand(2), rand(2)),
    "split": (lambda x: relay.exp(relay.split(x, 2, 1)[1]), rand(2, 4)),
    "reshape_like": (lambda x, y: relay.exp(relay.reshape_like(x, y)), rand(2, 3), rand(3, 2)),
    "cast_like": (lambda x, y: relay.cast_like(x * x, y), rand(3), rand(2)),
    "take": (lambda x: relay.exp(relay.take(x, relay.const([[0, 2], [2, 2]]), 1)), rand(2, 3)),
    "take any": (lambda x: relay.exp(relay.take(x, relay.const([1, 5, 5]))), rand(2, 3)),
    "gather_nd": (
        lambda x: relay.exp(relay.gather_nd(x, relay.const([[0, 1, 1], [2, 0, 0]]))), rand(2, 3)),
    "variance": (lambda x: relay.exp(relay.variance(x, 1, unbiased=True)), rand(2, 3)),
    "matmul": (
        lambda a, b: relay.exp(relay.nn.matmul(a, b, transpose_a=True)), rand(3, 2), rand(3, 4)),
    "global_avg_pool2d": (lambda x: relay.exp(relay.nn.global_avg_pool2d(x, "NHWC")),
                          rand(1, 2, 3, 2)),
    "strided_slice": (
        lambda x: relay.exp(relay.strided_slice(x, [-1], [-5], [-2], axes=[1])), rand(2, 4)),
    "strided_slice size": (
        lambda x: relay.exp(relay.strided_slice(x, [0, 1], [1, -1], slice_mode="size")),
        rand(2, 4)),
    "cross_entropy": (lambda x, y: relay.nn.cross_entropy(x, y), rand(2, 3), rand(2, 3)),
    "cross_entropy_with_logits": (
        lambda x, y: relay.nn.cross_entropy_with_logits(x, y), rand(2, 3), rand(2, 3)),
    "conv2d": (lambda x, w: relay.nn.conv2d(x, w, 2, (1, 0, 0, 1)) * relay.const(0.1, "float64"),
               rand(1, 2, 5, 6), rand(3, 2, 3, 2)),
    "conv2d in groups": (
        lambda x, w: relay.exp(relay.nn.conv2d(x, w, dilation=2, groups=2)), rand(1, 4, 3, 4),
        rand(2, 2, 2, 2)),
    "leaky_relu": (lambda x: relay.nn.leaky_relu(x, 0.3) * x, rand(2, 3, low=-1, high=1)),
    "pad": (lambda x, v: relay.exp(relay.nn.pad(x, ((1, 0), (0, 2)), v)), rand(2, 3), rand()),
    "layout_transform": (
        lambda x, w: relay.layout_transform(x, "NCHW", "NCHW2c") * w, rand(1, 4, 2, 3),
        rand(1, 2, 2, 3, 2)),
    "nothing known": (
        lambda x: x * relay.ones((3,), "float64") + relay.zeros((3,), "float64"), rand(3)),
    "tuple": (lambda x: relay.Tuple([x * x, relay.exp(x)]), rand(2)),
    "shared": (lambda x: relay.exp(x) * relay.exp(x) + x, rand(2)),
    "unused": (lambda x, y: relay.exp(x), rand(2), rand(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str) -> None:
    check(*CASES[name])


def test_pooling() -> None:
    x = RNG.permutation(36).reshape(1, 1, 6, 6).astype("float64")
    check(lambda a: relay.nn.max_pool2d(a, (2, 2), (2, 2)), x)
    check(lambda a: relay.nn.avg_pool2d(a, (2, 2), (2, 2)), x)


def test_lets_are_gone_through() -> None:
    v = relay.var("v")
    check(lambda x: relay.Let(v, relay.exp(x), v * v), rand(2))


def test_the_pass() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    found = t.FirstOrderGradient()(mod)["main"].ret_type
    one = relay.TensorType((2,))
    assert found == relay.TupleType([one, relay.TupleType([one])])


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x: relay.sort(x), "the operator sort has no rule"),
        (lambda x: relay.If(relay.const(True), relay.sort(x), x), "the operator sort has no rule"),
        (lambda x: relay.If(ONE, relay.Let(relay.Var("f"), relay.op.get("exp"), x), x),
         r"Op\(exp\) is passed as a value"),
        (lambda x: relay.nn.pad(x, ((1, 1),), pad_mode="edge"), "pad_mode 'edge'"),
    ],
)
def test_what_has_no_gradient(build: Any, text: str) -> None:
    with pytest.raises(tvm.TVMError, match=text):
        t.gradient(function_of(build, [rand(2)]))
    with pytest.raises(tvm.TVMError, match="mode 'x'"):
        t.gradient(function_of(lambda x: x, [rand(2)]), mode="x")


def test_composites() -> None:
    from tvm.relay.dataflow_pattern import is_op, wildcard

    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    func = relay.Function([x, y], relay.exp(relay.nn.relu(x + y)))
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    mod = t.MergeComposite([("demo.add_relu", pattern)])(tvm.IRModule.from_expr(func))
    assert mod["main"].body.args[0].op.attrs["Composite"] == "demo.add_relu"
    table = [("demo.add_relu", pattern, lambda e: False)]
    assert "Composite" not in t.MergeComposite(table)(tvm.IRModule.from_expr(func)).astext()
