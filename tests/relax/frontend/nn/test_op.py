"""Operators on tensors: as text, and as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from tests.relax.frontend.nn.running import apply
from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import Tensor, op, spec
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 6)).astype("float32")
Y = RNG.standard_normal((2, 4, 6)).astype("float32")
P = abs(X) + 0.5
ROW = RNG.standard_normal(6).astype("float32")
PICTURE = RNG.standard_normal((1, 4, 5, 6)).astype("float32")


def norm(x: Any, axes: tuple[int, ...]) -> Any:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def softmax(x: Any) -> Any:
    return scipy.special.softmax(x, -1)


def conv(x: Any, w: Any, spatial: int) -> Any:
    """A convolution without padding, by windows."""
    axes = tuple(range(2, 2 + spatial))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axes)
    reduced = (1, *range(2 + spatial, 2 + 2 * spatial))
    out = np.tensordot(windows, w, (reduced, (1, *axes)))
    return np.moveaxis(out, -1, 1)


W1, W2, W3 = (RNG.standard_normal((3, 4, *[2] * n)).astype("float32") for n in (1, 2, 3))
BIAS = RNG.standard_normal(3).astype("float32")
VOLUME = RNG.standard_normal((1, 4, 3, 4, 5)).astype("float32")

def halfway(x: Any) -> Any:
    """The means of neighbours along the last axis put between them."""
    out = np.empty((*x.shape[:-1], 2 * x.shape[-1] - 1), x.dtype)
    out[..., ::2], out[..., 1::2] = x, (x[..., 1:] + x[..., :-1]) / 2
    return out


CASES: list[tuple[str, Callable[..., Any], list[Any], Any]] = [
    ("add", op.add, [X, ROW], X + ROW),
    ("subtract", op.subtract, [X, Y], X - Y),
    ("multiply", op.multiply, [X, Y], X * Y),
    ("divide", op.divide, [X, P], X / P),
    ("maximum", op.maximum, [X, Y], np.maximum(X, Y)),
    ("minimum", op.minimum, [X, Y], np.minimum(X, Y)),
    ("less", op.less, [X, Y], X < Y),
    ("less_equal", op.less_equal, [X, X], X <= X),
    ("greater", op.greater, [X, Y], X > Y),
    ("greater_equal", op.greater_equal, [X, X], X >= X),
    ("equal", op.equal, [X, X], X == X),
    ("not_equal", op.not_equal, [X, Y], X != Y),
    ("where", lambda c, a, b: op.where(c, a, b), [X > 0, X, Y], np.where(X > 0, X, Y)),
    ("where a number", op.where, [(X > 0).astype("int32"), X, Y], np.where(X > 0, X, Y)),
    ("negative", op.negative, [X], -X),
    ("square", op.square, [X], X * X),
    ("sqrt", op.sqrt, [P], np.sqrt(P)),
    ("exp", op.exp, [X], np.exp(X)),
    ("log", op.log, [P], np.log(P)),
    ("floor", op.floor, [X], np.floor(X)),
    ("tanh", op.tanh, [X], np.tanh(X)),
    ("sigmoid", op.sigmoid, [X], scipy.special.expit(X)),
    ("astype", lambda x: op.astype(x, "int32"), [X], X.astype("int32")),
    ("matmul", op.matmul, [X, Y.transpose(0, 2, 1).copy()], X @ Y.transpose(0, 2, 1)),
    ("sum", lambda x: op.sum(x, [0, 2], True), [X], X.sum((0, 2), keepdims=True)),
    ("max", lambda x: op.max(x, 1), [X], X.max(1)),
    ("min", op.min, [X], X.min()),
    ("cumsum", lambda x: op.cumsum(x, 1), [X], X.cumsum(1)),
    ("cumsum before", lambda x: op.cumsum(x, 1, exclusive=True), [X], X.cumsum(1) - X),
    ("sort", lambda x: op.sort(x, 1, True), [X], -np.sort(-X, 1)),
    ("argsort", op.argsort, [X], X.argsort(-1)),
    ("topk", lambda x: op.topk(x, 2, ret_type="values"), [X], -np.sort(-X, -1)[..., :2]),
    ("unsqueeze", lambda x: op.unsqueeze(x, 1), [X], X[:, None]),
    ("squeeze", lambda x: op.squeeze(x, 0), [X[:1]], X[0]),
    ("concat", lambda x, y: op.concat([x, y], 1), [X, Y], np.concatenate([X, Y], 1)),
    ("chunk", lambda x: op.chunk(x, 2, 1)[1], [X], X[:, 2:]),
    ("split", lambda x: op.split(x, [1, 3], 1)[1], [X], X[:, 1:3]),
    ("broadcast_to", lambda x: op.broadcast_to(x, [3, 6]), [ROW], np.broadcast_to(ROW, (3, 6))),
    ("permute_dims", op.permute_dims, [X], X.T),
    ("permute", lambda x: op.permute(x, [1, 0, 2]), [X], X.transpose(1, 0, 2)),
    ("reshape", lambda x: op.reshape(x, [8, -1]), [X], X.reshape(8, 6)),
    ("repeat", lambda x: op.repeat(x, 2, 1), [X], X.repeat(2, 1)),
    ("take", lambda x, i: op.take(x, i, 1), [X, np.array([3, 0])], X[:, [3, 0]]),
    ("pad", lambda x: op.pad(x, [0, 0, 1, 2, 0, 0], value=7), [X],
     np.pad(X, ((0, 0), (1, 2), (0, 0)), constant_values=7)),
    ("triu", lambda x: op.triu(x, 1), [X], np.triu(X, 1)),
    ("relu", op.relu, [X], np.maximum(X, 0)),
    ("relu6", op.relu6, [X * 9], np.clip(X * 9, 0, 6)),
    ("silu", op.silu, [X], X * scipy.special.expit(X)),
    ("gelu", op.gelu, [X], X * scipy.special.ndtr(X)),
    ("gelu tanh", lambda x: op.gelu(x, "tanh"), [X],
     X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))),
    ("softmax", op.softmax, [X], softmax(X)),
    ("softplus", op.softplus, [X], np.log1p(np.exp(X))),
    ("prelu", op.prelu, [X, ROW[:4].copy()], np.where(X > 0, X, X * ROW[None, :4, None])),
    ("layer_norm", lambda x, w: op.layer_norm(x, 6, w), [X, ROW], norm(X, (2,)) * ROW),
    ("layer_norm of two", lambda x: op.layer_norm(x, [4, 6]), [X], norm(X, (1, 2))),
    ("rms_norm", lambda x, w: op.rms_norm(x, w, [-1]), [X, ROW],
     X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5) * ROW),
    ("group_norm", lambda x: op.group_norm(x, 2, None, None), [X],
     norm(X.reshape(2, 2, 12), (2,)).reshape(X.shape)),
    ("conv1d", lambda x, w, b: op.conv1d(x, w, b), [X, W1, BIAS],
     conv(X, W1, 1) + BIAS[:, None]),
    ("conv2d", lambda x, w, b: op.conv2d(x, w, b), [PICTURE, W2, BIAS],
     conv(PICTURE, W2, 2) + BIAS[:, None, None]),
    ("conv2d same", lambda x, w: op.conv2d(x, w, padding="same"), [PICTURE, W2],
     conv(np.pad(PICTURE, ((0, 0), (0, 0), (0, 1), (0, 1))), W2, 2)),
    ("conv3d", lambda x, w: op.conv3d(x, w, padding="valid"), [VOLUME, W3],
     conv(VOLUME, W3, 3)),
    ("conv1d_transpose", lambda x, w: op.conv1d_transpose(x, w),
     [X, np.ascontiguousarray(W1.swapaxes(0, 1))],
     conv(np.pad(X, ((0, 0), (0, 0), (1, 1))), W1[:, :, ::-1], 1)),
    ("interpolate", lambda x: op.interpolate(x, scale_factor=2.0), [PICTURE],
     PICTURE[:, :, [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]][:, :, :, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5]]),
    ("interpolate linear",
     lambda x: op.interpolate(x, (5, 11), mode="bilinear", align_corners=True), [PICTURE],
     halfway(PICTURE)),
]  # fmt: skip


@pytest.mark.parametrize(("func", "given", "wanted"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_numbers(func: Callable[..., Any], given: list[Any], wanted: Any) -> None:
    found = apply(func, *given)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_new_tensors() -> None:
    def made(x: Tensor) -> Any:
        return (
            op.arange(5), op.arange(1, 9, 3, "int32"), op.full([2, 3], 4.0), op.zeros([2]),
            op.ones([3], "int8"), op.relu6(op.full([2], 8.0)),
            op.full([2], tir.FloatImm("float32", 2.5)),
        )  # fmt: skip

    found = apply(made, X)
    wanted = [
        np.arange(5), [1, 4, 7], np.full((2, 3), 4), np.zeros(2), np.ones(3), [6, 6],
        [2.5, 2.5],
    ]  # fmt: skip
    for value, want in zip(found, wanted):
        np.testing.assert_array_equal(value, want)
    assert [str(value.dtype) for value in found[:2]] == ["float32", "int32"]


def test_unset_tensors_and_clips() -> None:
    class Network(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            return op.relu6(x), op.empty(x.shape, "int8"), op.gelu(x, "none")

    text = Network().export_tvm({"forward": {"x": spec.Tensor(["n"], "float32")}})[0].script()
    assert "R.clip(x, R.prim_value(0), R.prim_value(6))" in text
    assert 'R.builtin.alloc_tensor(R.shape([n]), R.dtype("int8"), ' in text
    assert "R.nn.gelu(x)" in text


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = (RNG.standard_normal((1, 5, 2, 4)).astype("float32") for _ in range(3))

    def attend(*operands: Tensor) -> Tensor:
        return op.scaled_dot_product_attention(*operands, is_causal=causal)

    scores = np.einsum("bihd,bjhd->bhij", q, k) / 2
    if causal:
        scores = np.where(np.tri(5, dtype=bool), scores, -np.inf)
    wanted = np.einsum("bhij,bjhd->bihd", softmax(scores), v)
    np.testing.assert_allclose(apply(attend, q, k, v), wanted, rtol=1e-5)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("dimension", [10, 11])
def test_timestep_embedding(flip: bool, dimension: int) -> None:
    times = np.array([0.0, 3.0, 7.0], "float32")
    found = apply(lambda t: op.get_timestep_embedding(t, dimension, flip, scale=2), times)
    angles = 2 * times[:, None] * np.exp(-np.log(10000) * np.arange(5) / 4)
    waves = [np.sin(angles), np.cos(angles)]
    wanted = np.concatenate(waves[::-1] if flip else waves, 1)
    np.testing.assert_allclose(found[:, :10], wanted, atol=1e-4)
    assert not found[:, 10:].any()


def test_angles_are_precise_whatever_is_returned() -> None:
    nn.set_default_dtype("float16")
    try:
        found = apply(lambda t: op.get_timestep_embedding(t, 4), np.float32([900]))
    finally:
        nn.set_default_dtype("float32")
    assert str(found.dtype) == "float16"
    angles = 900 * np.exp(-np.log(10000) * np.arange(2))
    np.testing.assert_allclose(found[0], [*np.sin(angles), *np.cos(angles)], atol=2e-3)


def test_as_text() -> None:
    class Model(nn.Module):
        def test(self, x: Tensor, y: Tensor) -> Any:
            return op.add(x, y), op.multiply(x, y), op.softmax(x, axis=1)

    @I.ir_module
    class Expected:
        @R.function
        def _initialize_effect() -> R.Tuple(R.Object):
            with R.dataflow():
                _io = R.null_value()
                lv = (_io,)
                gv = lv
                R.output(gv)
            return gv

        @R.function
        def test(x: R.Tensor((1, 10), "float32"), y: R.Tensor((10, 1), "float32"), _io: R.Object):
            R.func_attr({"num_input": 3})
            with R.dataflow():
                add = R.add(x, y)
                mul = R.multiply(x, y)
                softmax = R.nn.softmax(x, axis=1)
                gv = (add, mul, softmax), (_io,)
                R.output(gv)
            return gv

    forms = {"x": spec.Tensor([1, 10], "float32"), "y": spec.Tensor([10, 1], "float32")}
    mod, params = Model().export_tvm({"test": forms}, debug=True)
    assert params == []
    assert_structural_equal(mod, Expected)


@pytest.mark.parametrize(
    ("func", "told"),
    [
        (lambda x: op.gelu(x, "erf"), "None, 'none' or 'tanh'"),
        (lambda x: op.conv1d(x, x, padding="full"), "'valid', 'same' with a stride of 1"),
        (lambda x: op.interpolate(x), "a size, or one factor"),
        (lambda x: op.interpolate(x, size=2, antialias=True), "neither"),
    ],
)
def test_what_is_refused(func: Callable[..., Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        apply(func, X)


@pytest.mark.parametrize(
    ("func", "told"),
    [
        (lambda x: op.less(x, 1.0), r"less: the argument `b` .*\n  found: 1.0 of type float"),
        (lambda x: op.add(2, x), r"add: the argument `a` .*\n  found: 2 of type int"),
        (lambda x: op.matmul(x, None), r"matmul: the argument `b` .*\n  found: None"),
        (lambda x: op.relu([x]), r"relu: the argument `x` .*\n  found: \[Tensor"),
    ],
)
def test_operands_that_are_no_tensors_are_named(func: Callable[..., Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        apply(func, X)


@pytest.mark.parametrize(("dtype", "bindings"), [("bool", 1), ("int32", 2)])
def test_conditions_are_cast_once_or_not_at_all(dtype: str, bindings: int) -> None:
    class Model(nn.Module):
        def test(self, c: Tensor, x: Tensor) -> Tensor:
            return op.where(c, x, x)

    forms = {"c": spec.Tensor([4], dtype), "x": spec.Tensor([4], "float32")}
    mod, _ = Model().export_tvm({"test": forms})
    names = [str(b.value.op) for b in mod["test"].body.blocks[0].bindings[:-1]]
    assert len(names) == bindings
