from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError, TVMError

pytestmark = pytest.mark.pure


def reference(x: Any, k: Any, s: Any, d: Any, p: Any, kind: str, ceil: bool, pads: bool) -> Any:
    """One window after the other."""
    count = len(k)
    before, after = p[:count], p[count:]
    outs = []
    for n, kk, ss, dd, lo, hi in zip(x.shape[2:], k, s, d, before, after):
        room = n + lo + hi - (kk - 1) * dd - 1
        outs.append((-(-room // ss) if ceil else room // ss) + 1)
    result = np.zeros((*x.shape[:2], *outs), x.dtype)
    for at in product(*map(range, outs)):
        values, size = [], 0
        for tap in product(*map(range, k)):
            place = [a * ss + t * dd - lo for a, ss, t, dd, lo in zip(at, s, tap, d, before)]
            inside = all(0 <= q < n for q, n in zip(place, x.shape[2:]))
            padded = all(
                -lo <= q < n + hi for q, n, lo, hi in zip(place, x.shape[2:], before, after)
            )
            if inside:
                values.append(x[(slice(None), slice(None), *place)])
            size += padded if pads else inside
        window = np.stack(values)
        goal = (slice(None), slice(None), *at)
        result[goal] = window.max(0) if kind == "max" else window.sum(0) / max(size, 1)
    return result


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("pads", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "padding"),
    [
        ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
        ((3, 2), (2, 1), (1, 1), (1, 0, 1, 1)),
        ((3, 3), (2, 3), (1, 1), (1, 1, 1, 1)),
        ((2, 3), (1, 2), (2, 1), (0, 1, 1, 0)),
    ],
)
def test_pool2d(
    kind: str, ceil: bool, pads: bool, kernel: Any, stride: Any, dilation: Any, padding: Any
) -> None:
    x = floats(2, 3, 7, 9)
    wanted = reference(x, kernel, stride, dilation, padding, kind, ceil, pads)
    op = lambda a: topi.nn.pool2d(
        a, kernel, stride, dilation, padding, kind, ceil, "NCHW", pads
    )  # fmt: skip
    close(evaluate(op, x), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_other_dimensions_and_layouts(kind: str) -> None:
    x, v, p = floats(2, 3, 9), floats(1, 2, 5, 6, 4), floats(2, 3, 6, 6)
    one = lambda a: topi.nn.pool1d(a, [3], [2], [1], [1, 1], kind)
    close(evaluate(one, x), reference(x, [3], [2], [1], [1, 1], kind, False, True), 1e-5, 1e-5)
    three = lambda a: topi.nn.pool3d(a, [2] * 3, [2] * 3, [1] * 3, [0] * 6, kind)
    wanted = reference(v, [2] * 3, [2] * 3, [1] * 3, [0] * 6, kind, False, True)
    close(evaluate(three, v), wanted, 1e-5, 1e-5)
    last = lambda a: topi.nn.pool2d(
        a, [2, 2], [2, 2], [1, 1], [0] * 4, kind, layout="NHWC"
    )  # fmt: skip
    wanted = reference(p, [2, 2], [2, 2], [1, 1], [0] * 4, kind, False, True)
    close(evaluate(last, p.transpose(0, 2, 3, 1)), wanted.transpose(0, 2, 3, 1), 1e-5, 1e-5)


def adaptive(x: Any, outs: Any, kind: str) -> Any:
    result = np.zeros((*x.shape[:2], *outs), x.dtype)
    for at in product(*map(range, outs)):
        place = tuple(
            slice(a * n // o, -(-(a + 1) * n // o)) for a, n, o in zip(at, x.shape[2:], outs)
        )
        window = x[(slice(None), slice(None), *place)]
        axes = tuple(range(2, x.ndim))
        result[(slice(None), slice(None), *at)] = getattr(window, {"avg": "mean"}.get(kind, kind))(
            axes
        )
    return result


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_and_global(kind: str) -> None:
    x, line, v = floats(2, 3, 7, 5), floats(2, 3, 8), floats(1, 2, 5, 4, 3)
    for outs in ([1, 1], [3, 2], [7, 5]):
        got = evaluate(lambda a, o=outs: topi.nn.adaptive_pool(a, o, kind), x)
        close(got, adaptive(x, outs, kind), 1e-5, 1e-5)
    close(
        evaluate(lambda a: topi.nn.global_pool(a, kind), x), adaptive(x, [1, 1], kind), 1e-5, 1e-5
    )
    got = evaluate(lambda a: topi.nn.adaptive_pool1d(a, [3], kind), line)
    close(got, adaptive(line, [3], kind), 1e-5, 1e-5)
    for outs in ([0, 0], [0, 2]):
        got = evaluate(lambda a, o=outs: topi.nn.adaptive_pool(a, o, kind), x)
        assert got.shape == (*x.shape[:2], *outs)
    got = evaluate(lambda a: topi.nn.adaptive_pool3d(a, [2, 3, 1], kind), v)
    close(got, adaptive(v, [2, 3, 1], kind), 1e-5, 1e-5)


def test_refuses() -> None:
    x = te.placeholder((1, 2, 8, 8))
    with pytest.raises(ValueError, match=r"pool_type 'sum'"):
        topi.nn.pool2d(x, [2, 2], [2, 2], [1, 1], [0] * 4, "sum")
    with pytest.raises(ShapeError, match=r"one value for each side"):
        topi.nn.pool2d(x, [2, 2], [2, 2], [1, 1], [0] * 2, "max")
    with pytest.raises(ShapeError, match=r"1 values of kernel"):
        topi.nn.pool2d(x, [2], [2, 2], [1, 1], [0] * 4, "max")
    with pytest.raises(TVMError, match=r"unsplit axis H"):
        topi.nn.pool2d(x, [2, 2], [2, 2], [1, 1], [0] * 4, "max", layout="NCWD")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_means_of_integers_keep_their_type(dtype: str) -> None:
    """Sums of bytes leave the range of bytes."""
    data = np.full((1, 2, 4, 4), 100, dtype)
    for made in (
        lambda x: topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "avg"),
        lambda x: topi.nn.adaptive_pool(x, (2, 2), "avg"),
    ):
        found = evaluate(made, data)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.full((1, 2, 2, 2), 100))
