"""batch, layer, group, instance and rms normalisation against their formulas."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.error import DTypeError, ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


def normal(x: Any, axes: Any, eps: float = 1e-5) -> Any:
    x = x.astype("float64")
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def along(v: Any, axis: int, ndim: int) -> Any:
    return v.reshape([-1 if k == axis else 1 for k in range(ndim)])


@pytest.mark.parametrize("axis", [1, 3])
def test_batch_norm(axis: int) -> None:
    x = floats(2, 3, 4, 3)
    g, b, m = (floats(3, seed=k) for k in (1, 2, 3))
    v = rng(4).random(3).astype("float32") + 0.5
    c = lambda t: along(t, axis, 4)
    got = evaluate(lambda *t: nn.batch_norm(*t, axis=axis, training=False), x, g, b, m, v)
    close(got[0], (x - c(m)) / np.sqrt(c(v) + 1e-5) * c(g) + c(b), 1e-4, 1e-5)
    close(got[1], m)
    close(got[2], v)
    plain = evaluate(
        lambda *t: nn.batch_norm(*t, axis=axis, center=False, scale=False, training=False),
        x, g, b, m, v,
    )
    close(plain[0], (x - c(m)) / np.sqrt(c(v) + 1e-5), 1e-4, 1e-5)


def test_batch_norm_in_training() -> None:
    x = floats(4, 3, 5)
    g, b, m, v = (floats(3, seed=k) for k in (1, 2, 3, 4))
    got = evaluate(lambda *t: nn.batch_norm(*t, training=True, momentum=0.25), x, g, b, m, v)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    close(got[0], normal(x, (0, 2)) * along(g, 1, 3) + along(b, 1, 3), 1e-4, 1e-4)
    close(got[1], 0.75 * m + 0.25 * mean, 1e-4, 1e-5)
    close(got[2], 0.75 * v + 0.25 * var, 1e-4, 1e-5)
    t = [te.placeholder((3,)) for _ in range(4)]
    with pytest.raises(ShapeError, match=r"momentum range is \[0, 1\]"):
        nn.batch_norm(te.placeholder((4, 3)), *t, training=True, momentum=2.0)


@pytest.mark.parametrize("axes", [[1], [-1], [1, 2], [0, 1, 2]])
def test_layer_norm(axes: list[int]) -> None:
    x = floats(3, 4, 5)
    own = tuple(a % 3 for a in axes)
    g, b = (floats(*[x.shape[a] for a in own], seed=k) for k in (1, 2))
    shape = [x.shape[k] if k in own else 1 for k in range(3)]
    wanted = normal(x, own) * g.reshape(shape) + b.reshape(shape)
    close(evaluate(lambda *t: nn.layer_norm(*t, axes), x, g, b), wanted, 1e-4, 1e-4)
    got = evaluate(lambda p, q: nn.layer_norm(p, q, None, axes), x, g)
    close(got, normal(x, own) * g.reshape(shape), 1e-4, 1e-4)


def test_half_precision_sums_in_single() -> None:
    x = (floats(2, 512) * 100).astype("float16")
    g, b = np.ones(512, "float16"), np.zeros(512, "float16")
    got = evaluate(lambda *t: nn.layer_norm(*t, [1]), x, g, b)
    assert got.dtype == "float16"
    close(got, normal(x, 1), 1e-2, 1e-2)


def test_group_norm() -> None:
    x, g, b = floats(2, 6, 4, 3), floats(6, seed=1), floats(6, seed=2)
    wanted = normal(x.reshape(2, 3, 2, 4, 3), (2, 3, 4)).reshape(x.shape)
    wanted = wanted * along(g, 1, 4) + along(b, 1, 4)
    close(evaluate(lambda *t: nn.group_norm(*t, 3, 1, [2, 3]), x, g, b), wanted, 1e-4, 1e-4)
    last = evaluate(
        lambda *t: nn.group_norm(*t, 3, -1, [1, 2]), x.transpose(0, 2, 3, 1).copy(), g, b
    )
    close(last, wanted.transpose(0, 2, 3, 1), 1e-4, 1e-4)
    with pytest.raises(ShapeError, match=r"6 channels in 4 groups"):
        nn.group_norm(te.placeholder((2, 6, 3)), None, None, 4, 1, [2])


def test_instance_norm() -> None:
    x, g, b = floats(2, 3, 4, 5), floats(3, seed=1), floats(3, seed=2)
    wanted = normal(x, (2, 3)) * along(g, 1, 4) + along(b, 1, 4)
    close(evaluate(lambda *t: nn.instance_norm(*t, 1, [2, 3]), x, g, b), wanted, 1e-4, 1e-4)


@pytest.mark.parametrize("axes", [[-1], [1, 2], [0, 1, 2]])
def test_rms_norm(axes: list[int]) -> None:
    x = floats(3, 4, 5)
    own = tuple(a % 3 for a in axes)
    w = floats(*[x.shape[a] for a in own], seed=1)
    shape = [x.shape[k] if k in own else 1 for k in range(3)]
    root = np.sqrt((x.astype("float64") ** 2).mean(own, keepdims=True) + 1e-5)
    close(evaluate(lambda *t: nn.rms_norm(*t, axes), x, w), x / root * w.reshape(shape), 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sums_of_short_floats_are_long(dtype: Any) -> None:
    x = (floats(2, 300) + 3).astype(dtype)
    g, b = np.ones(300, dtype), np.zeros(300, dtype)
    step = float(ml_dtypes.finfo(dtype).eps)
    layers = evaluate(lambda *t: nn.layer_norm(*t, [1]), x, g, b)
    assert layers.dtype == dtype
    close(layers.astype("float64"), normal(x, (1,)), 2 * step, 2 * step)
    roots = np.sqrt((x.astype("float64") ** 2).mean(1, keepdims=True))
    found = evaluate(lambda *t: nn.rms_norm(*t, [1]), x, g)
    close(found.astype("float64"), x.astype("float64") / roots, 2 * step, 2 * step)


def test_types_are_checked() -> None:
    x, g = te.placeholder((3, 4)), te.placeholder((4,), "float16")
    with pytest.raises(DTypeError, match=r"found: float32, float16"):
        nn.layer_norm(x, g, None, [1])
    with pytest.raises(DTypeError, match=r"only support float32, float16, bfloat16 and float64"):
        nn.rms_norm(te.placeholder((3, 4), "int32"), te.placeholder((4,), "int32"), [1])


def test_counts_of_halves() -> None:
    """Products of extents that float16 has are its numbers, as in v0.22; larger ones are not."""
    for shape, shown in (((4, 6), "T.float16(4.0) * T.float16(6.0)"), ((300, 300), "T.float32(9")):
        x, g, b = (te.placeholder(s, "float16") for s in ((2, *shape), shape, shape))
        func = te.create_prim_func([x, g, b, topi.nn.layer_norm(x, g, b, axis=[1, 2])])
        assert shown in func.script()
