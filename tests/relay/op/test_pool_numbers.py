"""Pools of all ranks, their gradients, and the less common operators, against torch and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.op.test_numbers import Case, array
from tests.relay.run import value_of
from tvm import relay

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.pure
nn, F, T = relay.nn, torch.nn.functional, torch.from_numpy
LINE, IMAGE, VOLUME = array(2, 3, 7), array(1, 2, 6, 7), array(1, 2, 4, 5, 6)


def adaptive(x: Any, sizes: Any, reduce: Any, axes: Any) -> Any:
    """Window i of n over an axis: from floor(i * extent / n) to ceil((i + 1) * extent / n)."""
    for axis, count in zip(axes, sizes):
        extent = x.shape[axis]
        x = np.concatenate([
            reduce(np.take(x, range(i * extent // count, -(-(i + 1) * extent // count)), axis),
                   axis=axis, keepdims=True)
            for i in range(count)
        ], axis)  # fmt: skip
    return x


def slope(func: Any) -> Any:
    """The gradient of a pool for the data, by torch."""

    def wanted(grad: Any, x: Any) -> Any:
        data = T(x).requires_grad_()
        func(data).backward(T(grad))
        return data.grad.numpy()

    return wanted


def rounded(x: Any) -> Any:
    """x * 0.6 / 4 in integers of 32 bits; halves go up."""
    product = [int(v) * 1288490189 + (1 << 32) for v in x]
    return np.array([v >> 33 for v in product], "int32")


def rounded_per_axis(x: Any, y: Any, left: Any, right: Any) -> Any:
    """Each column times a number of its own, rounded; halves go up."""
    half = np.int64(1) << (30 + right.astype("int64"))
    product = (x.astype("int64") << left) * y + half
    return (product >> (31 + right.astype("int64"))).astype("int32")


ADAPTIVE = [
    Case(f"adaptive_{kind}_pool{rank}d {layout} {sizes}",
         lambda x, kind=kind, rank=rank, layout=layout, sizes=sizes: getattr(
             nn, f"adaptive_{kind}_pool{rank}d")(x, sizes, layout=layout), (data,),
         lambda x, sizes=sizes, axes=axes, f=f: adaptive(x, sizes, f, axes))
    for kind, f in (("avg", np.mean), ("max", np.max))
    for rank, data, layout, sizes, axes in (
        (1, LINE, "NCW", (3,), (2,)), (1, LINE, "NWC", (2,), (1,)),
        (2, IMAGE, "NCHW", (3, 2), (2, 3)), (2, IMAGE, "NHWC", (1, 4), (1, 2)),
        (3, VOLUME, "NCDHW", (3, 2, 2), (2, 3, 4)), (3, VOLUME, "NDHWC", (1, 2, 3), (1, 2, 3)),
    )
]  # fmt: skip
GLOBAL = [
    Case(f"global_{kind}_pool{rank}d {layout}",
         lambda x, kind=kind, rank=rank, layout=layout: getattr(
             nn, f"global_{kind}_pool{rank}d")(x, layout=layout), (data,),
         lambda x, axes=axes, f=f: f(x, axis=axes, keepdims=True))
    for kind, f in (("avg", np.mean), ("max", np.max))
    for rank, data, layout, axes in (
        (1, LINE, "NCW", (2,)), (1, LINE, "NWC", (1,)), (2, IMAGE, "NCHW", (2, 3)),
        (2, IMAGE, "NHWC", (1, 2)), (3, VOLUME, "NCDHW", (2, 3, 4)),
        (3, VOLUME, "NDHWC", (1, 2, 3)),
    )
]  # fmt: skip
CASES = [
    *ADAPTIVE, *GLOBAL,
    Case("avg_pool1d", lambda x: nn.avg_pool1d(x, (2,), (2,), padding=(1,)), (LINE,),
         lambda x: F.avg_pool1d(T(x), 2, 2, 1, count_include_pad=False).numpy()),
    Case("avg_pool1d whole", lambda x: nn.avg_pool1d(
        x, (2,), (2,), padding=(1,), count_include_pad=True), (LINE,),
         lambda x: F.avg_pool1d(T(x), 2, 2, 1).numpy()),
    Case("avg_pool2d ceil", lambda x: nn.avg_pool2d(
        x, (3, 3), (2, 2), padding=(1, 1), ceil_mode=True), (IMAGE,),
         lambda x: F.avg_pool2d(T(x), 3, 2, 1, True, False).numpy()),
    Case("max_pool2d ceil", lambda x: nn.max_pool2d(x, (3, 3), (2, 2), ceil_mode=True), (IMAGE,),
         lambda x: F.max_pool2d(T(x), 3, 2, ceil_mode=True).numpy()),
    Case("max_pool2d dilated", lambda x: nn.max_pool2d(x, (2, 2), dilation=(2, 3)), (IMAGE,),
         lambda x: F.max_pool2d(T(x), 2, 1, dilation=(2, 3)).numpy()),
    Case("max_pool3d", lambda x: nn.max_pool3d(x, (3, 3, 3), (2, 1, 2), padding=(1, 1, 1)),
         (VOLUME,), lambda x: F.max_pool3d(T(x), 3, (2, 1, 2), 1).numpy()),
    Case("max_pool2d_grad", lambda g, x: nn.max_pool2d_grad(g, x, (2, 2), (2, 2)),
         (array(1, 2, 3, 3), IMAGE), slope(lambda t: F.max_pool2d(t, 2, 2))),
    Case("avg_pool2d_grad", lambda g, x: nn.avg_pool2d_grad(
        g, x, (2, 2), (2, 2), padding=(1, 1)), (array(1, 2, 4, 4), IMAGE),
         slope(lambda t: F.avg_pool2d(t, 2, 2, 1, count_include_pad=False))),
    Case("avg_pool2d_grad whole", lambda g, x: nn.avg_pool2d_grad(
        g, x, (3, 3), (2, 2), padding=(1, 1), count_include_pad=True), (array(1, 2, 3, 4), IMAGE),
         slope(lambda t: F.avg_pool2d(t, 3, 2, 1))),
    Case("conv3d_transpose", lambda x, w: nn.conv3d_transpose(
        x, w, channels=3, kernel_size=(2, 3, 3), strides=(2, 1, 2), padding=(0, 1, 1),
        output_padding=(1, 0, 1)), (VOLUME, array(2, 3, 2, 3, 3)),
         lambda x, w: F.conv_transpose3d(T(x), T(w), stride=(2, 1, 2), padding=(0, 1, 1),
                                         output_padding=(1, 0, 1)).numpy()),
    Case("conv3d_transpose groups", lambda x, w: nn.conv3d_transpose(
        x, w, channels=4, groups=2, kernel_size=(2, 2, 2)), (VOLUME, array(2, 2, 2, 2, 2)),
         lambda x, w: F.conv_transpose3d(T(x), T(w), groups=2).numpy()),
    Case("fifo_buffer", lambda x, b: nn.fifo_buffer(x, b, 1), (array(2, 2), array(2, 5)),
         lambda x, b: np.concatenate([b[:, 2:], x], 1)),
    Case("acosh", relay.acosh, (array(3, 4, low=1.1),), np.arccosh),
    Case("fixed_point_multiply", lambda x: relay.fixed_point_multiply(x, 1288490189, -2),
         (np.array([-77, 100, 1000, 3, -1], "int32"),), rounded),
    Case("fixed_point_multiply_per_axis", lambda *p: relay.fixed_point_multiply_per_axis(
        *p, True, True, [-1]), (np.array([[7, -7, 1000], [-1001, 3, 12]], "int32"),
        np.array([1 << 30, 1288490189, 1 << 29], "int32"), np.array([0, 3, 1], "int32"),
        np.array([1, 0, 2], "int32")), rounded_per_axis),
    Case("cast_hint", lambda x: relay.op.annotation.cast_hint(x, "int8"), (LINE,), lambda x: x),
    Case("checkpoint", relay.annotation.checkpoint, (LINE,), lambda x: x),
    Case("stop_fusion", relay.annotation.stop_fusion, (LINE,), lambda x: x),
]  # fmt: skip
FAST = [
    Case("fast_exp", relay.fast_exp, (array(50),), np.exp),
    Case("fast_tanh", relay.fast_tanh, (array(50),), np.tanh),
    Case("fast_erf", relay.fast_erf, (array(50),), lambda x: torch.erf(T(x)).numpy()),
    Case("fast_softmax", lambda x: nn.fast_softmax(x, -1), (array(3, 5),),
         lambda x: torch.softmax(T(x), -1).numpy()),
]  # fmt: skip


@pytest.mark.parametrize("case", [*CASES, *FAST], ids=lambda case: case.name)
def test_value(case: Case) -> None:
    bound = 1e-2 if case.name.startswith("fast_") else 1e-4
    found, kind = value_of(case.build, case.operands)
    wanted = case.expected(*case.operands)
    np.testing.assert_allclose(found, wanted, rtol=bound, atol=bound / 10)
    assert kind == relay.TensorType(wanted.shape, str(wanted.dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_means_of_integers_are_of_their_type(dtype: str) -> None:
    low, high = (0, 200) if dtype == "uint8" else (-100, 100)
    given = np.random.default_rng(0).integers(low, high, (1, 2, 4, 4)).astype(dtype)
    wide = given.astype("int64")
    blocks = wide.reshape(1, 2, 2, 2, 2, 2).sum((3, 5))
    cases = [
        (lambda x: relay.nn.avg_pool2d(x, (2, 2), (2, 2)), blocks / 4),
        (lambda x: relay.nn.global_avg_pool2d(x), wide.sum((2, 3), keepdims=True) / 16),
        (lambda x: relay.nn.adaptive_avg_pool2d(x, (2, 2)), blocks / 4),
    ]
    for pool, wanted in cases:
        found, _ = value_of(pool, [given])
        assert str(found.dtype) == dtype
        np.testing.assert_array_equal(found, np.trunc(wanted).astype(dtype))
