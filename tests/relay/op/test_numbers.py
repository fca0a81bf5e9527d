"""Each operator of Relay: its type as inferred is that of its value, and the value is numpy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.relay.run import value_of
from tvm import relay

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(0)


def array(*shape: int, dtype: str = "float32", low: float = -2.0, high: float = 2.0) -> Any:
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        return RNG.integers(int(low), int(high) + 1, shape).astype(dtype)
    return RNG.uniform(low, high, shape).astype(dtype)


class Case(NamedTuple):
    """A call of operands, and what numpy says of them."""

    name: str
    build: Callable[..., Any]
    operands: tuple[Any, ...]
    expected: Callable[..., Any]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


UNARY: dict[str, Any] = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "tan": np.tan, "cos": np.cos,
    "cosh": np.cosh, "sin": np.sin, "sinh": np.sinh, "acos": np.arccos, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "exp": np.exp, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": sigmoid, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "round": np.round, "abs": np.abs, "sign": np.sign, "tanh": np.tanh,
    "negative": np.negative, "copy": lambda x: x, "zeros_like": np.zeros_like,
    "ones_like": np.ones_like, "isnan": np.isnan, "isfinite": np.isfinite, "isinf": np.isinf,
}  # fmt: skip
BINARY: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "power": np.power, "mod": np.fmod, "floor_divide": np.floor_divide, "floor_mod": np.mod,
    "trunc_mod": np.fmod, "trunc_divide": lambda a, b: np.trunc(a / b), "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "maximum": np.maximum,
    "minimum": np.minimum,
}  # fmt: skip
LOGIC: dict[str, Any] = {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}
BITS: dict[str, Any] = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift, "right_shift": np.right_shift,
}
REDUCE: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "std": np.std,
    "variance": np.var,
}
CASES = [
    *[Case(n, getattr(relay, n), (array(2, 3, low=0.1, high=0.9),), f) for n, f in UNARY.items()],
    *[Case(n, getattr(relay, n), (array(2, 1, 3, low=0.5), array(4, 1, low=0.5)), f)
      for n, f in BINARY.items()],
    *[Case(n, getattr(relay, n), (array(2, 3, dtype="bool"), array(3, dtype="bool")), f)
      for n, f in LOGIC.items()],
    *[Case(n, getattr(relay, n),
           (array(2, 3, dtype="int32", low=0, high=9), array(3, dtype="int32", low=0, high=3)), f)
      for n, f in BITS.items()],
    *[Case(f"{n} axes", lambda x, n=n: getattr(relay, n)(x, axis=(0, 2), keepdims=True),
           (array(2, 3, 4),), lambda x, f=f: f(x, axis=(0, 2), keepdims=True))
      for n, f in REDUCE.items()],
    *[Case(f"{n} without axes", lambda x, n=n: getattr(relay, n)(x, exclude=True),
           (array(2, 3, 4),), lambda x, f=f: f(x, axis=(0, 1, 2))) for n, f in REDUCE.items()],
    *[Case(f"{n} others", lambda x, n=n: getattr(relay, n)(x, axis=1, exclude=True),
           (array(2, 3, 4),), lambda x, f=f: f(x, axis=(0, 2))) for n, f in REDUCE.items()],
    Case("logical_not", relay.logical_not, (array(3, dtype="bool"),), np.logical_not),
    Case("bitwise_not", relay.bitwise_not, (array(3, dtype="int32"),), np.invert),
    Case("erf", relay.erf, (np.array([-1, 0, 0.5], "float32"),),
         lambda x: np.array([-0.8427008, 0, 0.5204999], "float32")),
    Case("any", lambda x: relay.any(x, axis=1), (array(2, 3, dtype="bool"),),
         lambda x: x.any(1)),
    Case("all", lambda x: relay.all(x), (array(2, 3, dtype="bool"),), lambda x: x.all()),
    Case("argmax", lambda x: relay.argmax(x, axis=1), (array(3, 4),),
         lambda x: x.argmax(1).astype("int32")),
    Case("argmin", lambda x: relay.argmin(x, axis=1, keepdims=True), (array(3, 4),),
         lambda x: x.argmin(1, keepdims=True).astype("int32")),
    Case("argmax last", lambda x: relay.argmax(x, axis=0, select_last_index=True),
         (np.array([1, 3, 3], "float32"),), lambda x: np.array(2, "int32")),
    Case("unbiased", lambda x: relay.variance(x, axis=1, unbiased=True), (array(2, 5),),
         lambda x: x.var(1, ddof=1)),
    Case("logsumexp", lambda x: relay.logsumexp(x, axis=1), (array(2, 5),),
         lambda x: np.log(np.exp(x).sum(1))),
    Case("logsumexp of the rest", lambda x: relay.logsumexp(x, axis=1, exclude=True),
         (array(2, 5, 3),), lambda x: np.log(np.exp(x).sum((0, 2)))),
    Case("logsumexp of the rest, kept",
         lambda x: relay.logsumexp(x, axis=(1,), keepdims=True, exclude=True),
         (array(2, 5, 3),), lambda x: np.log(np.exp(x).sum((0, 2), keepdims=True))),
    Case("mean_variance", lambda x: relay.mean_variance(x, axis=1).astuple(), (array(2, 5),),
         lambda x: (x.mean(1), x.var(1))),
    Case("mean_std", lambda x: relay.mean_std(x, axis=1, keepdims=True).astuple(), (array(2, 5),),
         lambda x: (x.mean(1, keepdims=True), x.std(1, keepdims=True))),
    Case("clip", lambda x: relay.clip(x, -1, 1), (array(3, 4),), lambda x: x.clip(-1, 1)),
    Case("cast", lambda x: relay.cast(x, "int32"), (array(3, 4),), lambda x: x.astype("int32")),
    Case("cast_like", relay.cast_like, (array(3), array(1, dtype="int32")),
         lambda x, y: x.astype("int32")),
    Case("reinterpret", lambda x: relay.reinterpret(x, "int32"), (array(3),),
         lambda x: x.view("int32")),
    Case("zeros", lambda: relay.zeros((2, 3), "float32"), (), lambda: np.zeros((2, 3), "float32")),
    Case("ones", lambda: relay.ones((2,), "int32"), (), lambda: np.ones(2, "int32")),
    Case("full", lambda: relay.full(relay.const(3.0), (2, 2)), (),
         lambda: np.full((2, 2), 3, "float32")),
    Case("full_like", lambda x: relay.full_like(x, relay.const(2.0)), (array(3),),
         lambda x: np.full_like(x, 2)),
    Case("expand_dims", lambda x: relay.expand_dims(x, 1, 2), (array(2, 3),),
         lambda x: x.reshape(2, 1, 1, 3)),
    Case("expand_dims end", lambda x: relay.expand_dims(x, -1), (array(2, 3),),
         lambda x: x[..., None]),
    Case("transpose", lambda x: relay.transpose(x, (0, 2, -2)), (array(2, 3, 4),),
         lambda x: x.transpose(0, 2, 1)),
    Case("transpose all", relay.transpose, (array(2, 3, 4),), np.transpose),
    Case("squeeze", lambda x: relay.squeeze(x, [0]), (array(1, 3, 1),), lambda x: x[0]),
    Case("squeeze all", relay.squeeze, (array(1, 3, 1),), np.squeeze),
    Case("reshape", lambda x: relay.reshape(x, (0, -1)), (array(2, 3, 4),),
         lambda x: x.reshape(2, 12)),
    Case("reshape join", lambda x: relay.reshape(x, (-3, 0)), (array(2, 3, 4),),
         lambda x: x.reshape(6, 4)),
    Case("reshape split", lambda x: relay.reshape(x, (-4, 2, -1, -2)), (array(4, 3),),
         lambda x: x.reshape(2, 2, 3)),
    Case("reverse_reshape", lambda x: relay.reverse_reshape(x, (-1, 0)), (array(2, 3, 4),),
         lambda x: x.reshape(6, 4)),
    Case("reshape_like", relay.reshape_like, (array(2, 6), array(3, 4)),
         lambda x, y: x.reshape(3, 4)),
    Case("reshape_like part", lambda x, y: relay.reshape_like(
        x, y, lhs_begin=1, lhs_end=2, rhs_begin=0, rhs_end=2), (array(2, 6), array(3, 2)),
         lambda x, y: x.reshape(2, 3, 2)),
    Case("concatenate", lambda x, y: relay.concatenate((x, y), 1), (array(2, 3), array(2, 1)),
         lambda x, y: np.concatenate((x, y), 1)),
    Case("stack", lambda x, y: relay.stack([x, y], 1), (array(2, 3), array(2, 3)),
         lambda x, y: np.stack((x, y), 1)),
    Case("split", lambda x: relay.split(x, 2, axis=1).astuple(), (array(2, 4),),
         lambda x: tuple(np.split(x, 2, 1))),
    Case("split at", lambda x: relay.split(x, (1, 3), axis=1).astuple(), (array(2, 4),),
         lambda x: tuple(np.split(x, (1, 3), 1))),
    Case("take flat", relay.take, (array(2, 3), np.array([0, 5, 2], "int32")),
         lambda x, i: x.ravel()[i]),
    Case("take", lambda x, i: relay.take(x, i, axis=1), (array(2, 3), np.array([[2, 0]], "int32")),
         lambda x, i: x[:, i]),
    Case("gather", lambda x, i: relay.gather(x, 1, i),
         (array(2, 3), np.array([[2, 0], [1, 1]], "int32")),
         lambda x, i: np.take_along_axis(x, i, 1)),
    Case("gather_nd", relay.gather_nd, (array(2, 3), np.array([[0, 1], [2, 0]], "int32")),
         lambda x, i: x[tuple(i)]),
    Case("argwhere", relay.argwhere, (np.array([[0, 1], [2, 0]], "float32"),),
         lambda x: np.argwhere(x).astype("int32")),
    Case("where", relay.where, (array(2, 3, dtype="bool"), array(2, 3), array(3)), np.where),
    Case("repeat", lambda x: relay.repeat(x, 2, 1), (array(2, 3),), lambda x: x.repeat(2, 1)),
    Case("tile", lambda x: relay.tile(x, (2, 1, 2)), (array(2, 3),),
         lambda x: np.tile(x, (2, 1, 2))),
    Case("reverse", lambda x: relay.reverse(x, 1), (array(2, 3),), lambda x: x[:, ::-1]),
    Case("reverse_sequence", lambda x, n: relay.reverse_sequence(x, n, 1, 0),
         (array(2, 3), np.array([2, 3], "int32")),
         lambda x, n: np.stack([np.r_[x[0, 1::-1], x[0, 2:]], x[1, ::-1]])),
    Case("broadcast_to", lambda x: relay.broadcast_to(x, (2, 2, 3)), (array(2, 3),),
         lambda x: np.broadcast_to(x, (2, 2, 3))),
    Case("broadcast_to_like", relay.broadcast_to_like, (array(3), array(2, 3)),
         lambda x, y: np.broadcast_to(x, (2, 3))),
    Case("collapse_sum_like", relay.collapse_sum_like, (array(2, 3), array(1, 3)),
         lambda x, y: x.sum(0, keepdims=True)),
    Case("collapse_sum_to", lambda x: relay.collapse_sum_to(x, (3,)), (array(2, 3),),
         lambda x: x.sum(0)),
    Case("strided_slice", lambda x: relay.strided_slice(x, [0, 1], [2, 4], [1, 2]),
         (array(3, 5),), lambda x: x[0:2, 1:4:2]),
    Case("strided_slice back", lambda x: relay.strided_slice(x, [-1, 2], [-5, 9], [-1, 1]),
         (array(3, 5),), lambda x: x[-1:-5:-1, 2:9]),
    Case("strided_slice axes", lambda x: relay.strided_slice(x, [1], [-1], axes=[1]),
         (array(3, 5),), lambda x: x[:, 1:-1]),
    Case("strided_slice size", lambda x: relay.strided_slice(
        x, [1, 0], [-1, 3], slice_mode="size"), (array(3, 5),), lambda x: x[1:, 0:3]),
    Case("strided_set", lambda x, v: relay.strided_set(x, v, (0, 1), (2, 3)),
         (array(3, 4), array(2, 2)), lambda x, v: _with_slice(x, v)),
    Case("slice_like", lambda x, y: relay.slice_like(x, y, axes=(1,)), (array(3, 4), array(1, 2)),
         lambda x, y: x[:, :2]),
    Case("layout_transform", lambda x: relay.layout_transform(x, "NCHW", "NCHW2c"),
         (array(1, 4, 2, 2),), lambda x: x.reshape(1, 2, 2, 2, 2).transpose(0, 1, 3, 4, 2)),
    Case("arange", lambda: relay.arange(relay.const(1.0), relay.const(4.0), relay.const(0.5)), (),
         lambda: np.arange(1, 4, 0.5, "float32")),
    Case("one_hot", lambda i: relay.one_hot(i, relay.const(2.0), relay.const(-1.0), 3, -1,
                                            "float32"), (np.array([0, 2], "int32"),),
         lambda i: np.array([[2, -1, -1], [-1, -1, 2]], "float32")),
    Case("sequence_mask", lambda x, n: relay.sequence_mask(x, n, mask_value=9, axis=1),
         (array(2, 3), np.array([1, 2], "int32")),
         lambda x, n: np.where(np.arange(3) < n[:, None], x, np.float32(9))),
    Case("unravel_index", relay.unravel_index,
         (np.array([5, 2], "int32"), np.array([2, 3], "int32")),
         lambda i, s: np.array(np.unravel_index(i, (2, 3)), "int32")),
    Case("sparse_to_dense", lambda i, v: relay.sparse_to_dense(i, (5,), v, relay.const(0.5)),
         (np.array([1, 3], "int32"), np.array([7, 8], "float32")),
         lambda i, v: np.array([0.5, 7, 0.5, 8, 0.5], "float32")),
    Case("matrix_set_diag", relay.matrix_set_diag, (array(2, 3), array(2)),
         lambda x, d: np.where(np.eye(2, 3, dtype=bool), d[:, None], x)),
    Case("adv_index", lambda x, i, j: relay.adv_index([x, i, j]),
         (array(3, 4), np.array([0, 2], "int32"), np.array([1, 3], "int32")),
         lambda x, i, j: x[i, j]),
    Case("meshgrid", lambda x, y: relay.meshgrid([x, y]).astuple(), (array(2), array(3)),
         lambda x, y: tuple(np.meshgrid(x, y, indexing="ij"))),
    Case("scatter_elements", lambda x, i, u: relay.scatter_elements(x, i, u, 0, "add"),
         (np.zeros((3, 1), "float32"), np.array([[1], [1]], "int32"),
          np.array([[2], [3]], "float32")),
         lambda x, i, u: np.array([[0], [5], [0]], "float32")),
    Case("scatter_nd", lambda x, i, u: relay.scatter_nd(x, i, u, "update"),
         (np.zeros((2, 2), "float32"), np.array([[0, 1], [1, 0]], "int32"),
          np.array([5, 6], "float32")), lambda x, i, u: np.array([[0, 5], [6, 0]], "float32")),
    Case("cumsum", lambda x: relay.cumsum(x, axis=1), (array(2, 3),), lambda x: x.cumsum(1)),
    Case("cumprod", lambda x: relay.cumprod(x), (array(2, 3),), lambda x: x.ravel().cumprod()),
    Case("cumsum exclusive", lambda x: relay.cumsum(x, axis=0, exclusive=True), (array(3),),
         lambda x: np.r_[np.float32(0), x.cumsum()[:-1]]),
    Case("invert_permutation", relay.invert_permutation, (np.array([2, 0, 1], "int32"),),
         lambda x: np.argsort(x).astype("int32")),
    Case("trilu", lambda x: relay.trilu(x, 0, upper=False), (array(3, 3),), np.tril),
    Case("shape_of", relay.shape_of, (array(2, 5),), lambda x: np.array([2, 5], "int32")),
    Case("ndarray_size", relay.ndarray_size, (array(2, 5),), lambda x: np.array(10, "int32")),
    Case("einsum", lambda x, y: relay.einsum((x, y), "ij,jk->ik"), (array(2, 3), array(3, 4)),
         lambda x, y: x @ y),
    Case("sort", lambda x: relay.sort(x, axis=1, is_ascend=False), (array(2, 4),),
         lambda x: -np.sort(-x, 1)),
    Case("argsort", lambda x: relay.argsort(x, axis=0), (array(4, 2),),
         lambda x: np.argsort(x, 0).astype("int32")),
    Case("topk", lambda x: relay.topk(x, k=2).astuple(), (array(2, 4),),
         lambda x: (-np.sort(-x, 1)[:, :2], np.argsort(-x, 1)[:, :2].astype("int32"))),
    Case("topk values", lambda x: relay.topk(x, k=1, ret_type="values", is_ascend=True),
         (array(2, 4),), lambda x: np.sort(x, 1)[:, :1]),
    Case("searchsorted", relay.searchsorted,
         (np.array([1, 3, 5], "float32"), np.array([0, 3, 9], "float32")),
         lambda s, v: np.searchsorted(s, v).astype("int32")),
    Case("sliding_window", lambda x: relay.sliding_window(x, 0, (2,), (1,)), (array(4),),
         lambda x: np.lib.stride_tricks.sliding_window_view(x, 2)),
]  # fmt: skip


def _with_slice(x: Any, v: Any) -> Any:
    made = x.copy()
    made[0:2, 1:3] = v
    return made


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_value(case: Case) -> None:
    wanted = case.expected(*case.operands)
    found, inferred = value_of(case.build, case.operands)
    if not isinstance(wanted, tuple):
        wanted, found, inferred = (wanted,), (found,), (inferred,)
    assert len(found) == len(wanted)
    for have, want, typed in zip(found, wanted, inferred):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
        assert tuple(have.shape) == np.shape(want)
        if relay.is_dynamic(typed):
            assert (len(typed.shape), typed.dtype) == (have.ndim, str(have.dtype))
        else:
            assert typed == relay.TensorType(np.shape(want), str(have.dtype))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic_keeps_the_type_of_its_operands(name: str) -> None:
    """What is not zero is true; numbers give numbers, as v0.18 has it."""
    a, b = np.array([0, 1, 2, 0], "int32"), np.array([0, 3, 0, 4], "int32")
    found, kind = value_of(getattr(relay, name), [a, b])
    assert kind.dtype == found.dtype == "int32"
    assert (found == getattr(np, name)(a, b)).all()
