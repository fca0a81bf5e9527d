"""Quantized products in four terms: their form, and exact numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.transform.numbers import RNG, module, ops, results
from tvm import relay
from tvm.relay import qnn

pytestmark = pytest.mark.pure
SCALE = relay.const(0.5)
ZEROS = [(0, 0), (5, 0), (0, 3), (7, 3)]


def integers(shape: tuple[int, ...], dtype: str) -> Any:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def canonical(body: Any) -> Any:
    mod = qnn.transform.CanonicalizeOps()(module(body))
    return relay.transform.InferType()(mod)


def conv2d(zeros: Any, dtype: str = "uint8", **options: Any) -> Any:
    x = relay.var("x", shape=(1, 2, 4, 4), dtype=dtype)
    filters = 2 // options.get("groups", 1)
    w = relay.var("w", shape=(2, filters, 2, 2), dtype=dtype)
    zero_points = [z if isinstance(z, relay.Expr) else relay.const(z) for z in zeros]
    options = {"kernel_size": (2, 2), "channels": 2, "padding": (1, 0), **options}
    return qnn.op.conv2d(x, w, *zero_points, SCALE, SCALE, **options)


@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_convolutions_are_exact(zeros: tuple[int, int], groups: int, dtype: str) -> None:
    x, w = integers((1, 2, 4, 4), dtype), integers((2, 2 // groups, 2, 2), dtype)
    found = results(canonical(conv2d(zeros, dtype, groups=groups)), [x, w])[0]
    data = np.pad(x.astype("int64") - zeros[0], ((0, 0), (0, 0), (1, 1), (0, 0)))
    kernel = w.astype("int64") - zeros[1]
    windows = np.lib.stride_tricks.sliding_window_view(data, (2, 2), axis=(2, 3))
    if groups == 2:
        wanted = np.einsum("nchwpq,cpq->nchw", windows, kernel[:, 0])
    else:
        wanted = np.einsum("nchwpq,ocpq->nohw", windows, kernel)
    np.testing.assert_array_equal(found, wanted)


def test_terms_without_effect_are_left_out() -> None:
    assert ops(canonical(conv2d((0, 0), padding=(0, 0)))) == ["nn.conv2d"]
    assert "nn.avg_pool2d" not in ops(canonical(conv2d((5, 0))))  # no sums of windows
    both = canonical(conv2d((5, 3), padding=(0, 0)))
    assert {"nn.avg_pool2d", "sum", "multiply", "subtract", "add"} <= set(ops(both))
    assert "nn.pad" not in ops(both)
    assert "nn.avg_pool2d(%2, pool_size=[2, 2]) " in both.astext()


def test_zero_points_of_the_program_and_of_channels() -> None:
    zero = relay.var("z", shape=(), dtype="int32")
    vector = relay.const(np.array([1, 2], "int32"))
    for zeros in ((zero, 3), (3, zero), (5, vector)):
        text = canonical(conv2d(zeros)).astext()
        assert "repeat(" in text
        assert "expand_dims(" in text


@pytest.mark.parametrize("options", [{"dilation": (2, 2)}, {"groups": 2, "channels": 4}])
def test_others_are_differences_of_32_bits(options: dict[str, Any]) -> None:
    x = relay.var("x", shape=(1, 2, 4, 4), dtype="uint8")
    w = relay.var("w", shape=(options.get("channels", 2), 2 // options.get("groups", 1), 2, 2),
                  dtype="uint8")  # fmt: skip
    body = qnn.op.conv2d(x, w, relay.const(5), relay.const(3), SCALE, SCALE, kernel_size=(2, 2),
                         **{"channels": 2, **options})  # fmt: skip
    made = canonical(body)
    assert "nn.avg_pool2d" not in ops(made)
    assert "int16" not in made.astext()


def test_a_zero_point_that_no_element_has_is_no_padding() -> None:
    x, w = integers((1, 2, 4, 4), "uint8"), integers((2, 2, 2, 2), "uint8")
    found = results(canonical(conv2d((-4, 1), padding=(1, 1))), [x, w])[0]
    assert found.shape == (1, 2, 5, 5)
    assert found[0, 0, 0, 0] == (int(x[0, :, 0, 0] @ (w[0, :, 1, 1].astype("int64") - 1))
                                 + 4 * int((w[0, :, 1, 1].astype("int64") - 1).sum()))  # fmt: skip


@pytest.mark.parametrize("zeros", ZEROS)
def test_matrices(zeros: tuple[int, int]) -> None:
    x, w = integers((2, 3, 8), "int8"), integers((2, 5, 8), "int8")
    points = [relay.const(z) for z in zeros]
    a, b = (relay.var(n, shape=v.shape, dtype="int8") for n, v in (("a", x), ("b", w)))
    wide = [v.astype("int64") - z for v, z in zip((x, w), zeros)]
    batch = canonical(qnn.op.batch_matmul(a, b, *points, SCALE, SCALE))
    np.testing.assert_array_equal(
        results(batch, [x, w])[0], wide[0] @ wide[1].transpose(0, 2, 1)
    )
    a, b = (relay.var(n, shape=v.shape[1:], dtype="int8") for n, v in (("a", x), ("b", w)))
    dense = canonical(qnn.op.dense(a, b, *points, SCALE, SCALE, 5))
    np.testing.assert_array_equal(results(dense, [x[0], w[0]])[0], wide[0][0] @ wide[1][0].T)


def test_requantization_takes_32_bits_where_nothing_can_leave_them() -> None:
    def text(dtype: str, scale: float, zero: int) -> str:
        x = relay.var("x", shape=(2, 3), dtype=dtype)
        made = qnn.op.requantize(x, relay.const(scale), relay.const(zero), relay.const(1.0),
                                 relay.const(9), out_dtype="int8")  # fmt: skip
        return str(canonical(made).astext())

    assert "int64" not in text("int32", 0.3, 0)
    assert "int64" not in text("int8", 3.0, 4)
    assert "int64" in text("int32", 3.0, 0)
    assert "int64" in text("int32", 0.3, 4)
    assert "fixed_point_multiply(" in text("int32", 0.3, 0)
