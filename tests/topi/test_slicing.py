from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError
from tvm.topi import slicing

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [
        ([1, 0], [4, 3], None),
        ([0], [3], [2]),
        ([-3, -1], [-1, 0], [1, -1]),
        ([5, 4], [0, -9], [-2, -1]),
        ([0, None], [99, None], [1, 1]),
        ([4], [2], [1]),
    ],
)
def test_known_bounds(begin: Any, end: Any, strides: Any) -> None:
    x = floats(6, 5)
    steps = list(strides or [])
    steps += [1] * (len(begin) - len(steps))
    wanted = x[tuple(slice(b, e, s) for b, e, s in zip(begin, end, steps))]
    close(evaluate(lambda a: topi.strided_slice(a, begin, end, strides), x), wanted)


def test_axes_and_sizes() -> None:
    x = floats(6, 5)
    close(evaluate(lambda a: topi.strided_slice(a, [1], [4], [2], axes=[1]), x), x[:, 1:4:2])
    sized = lambda a: topi.strided_slice(a, [1, 2], [3, -1], slice_mode="size")
    close(evaluate(sized, x), x[1:4, 2:])
    assert topi.strided_slice(te.placeholder((6,)), [1], [4], axes=[0]).op.name == (
        "T_strided_slice_with_axes"
    )


def test_symbolic_bounds() -> None:
    x = floats(6, 5)
    close(evaluate(lambda a: topi.strided_slice(a, [1, 0], [4, 3]), x, symbolic=True), x[1:4, :3])
    wide = lambda a: topi.strided_slice(a, [-4], [99], assume_inbound=False)
    close(evaluate(wide, x, symbolic=True), x[-4:])
    n = te.var("n")
    a = te.placeholder((n,))
    assert topi.strided_slice(a, [0], [n - 1]).op.name == "T_dynamic_strided_slice"


def test_bounds_in_tensors() -> None:
    x = floats(6, 5)
    begin, end, strides = (np.array(v, "int64") for v in ([1, 2], [5, 5], [2, 1]))
    got = evaluate(
        lambda a, b, e, s: topi.dynamic_strided_slice(a, b, e, s, (2, 3)), x, begin, end, strides
    )
    close(got, x[1:5:2, -3:])
    begin = np.array([1, -3], "int64")
    got = evaluate(
        lambda a, b, e, s: slicing.dynamic_slice_of_any_bounds(a, b, e, s, (2, 3)),
        x, begin, end, strides,
    )  # fmt: skip
    close(got, x[1:5:2, -3:])


def test_strided_set() -> None:
    x, v = floats(6, 5), floats(3, 2, seed=1)
    begin, end, strides = (np.array(t, "int32") for t in ([0, 1], [6, 5], [2, 2]))
    wanted = x.copy()
    wanted[0:6:2, 1:5:2] = v
    got = evaluate(lambda *t: topi.strided_set(*t), x, v, begin, end, strides)
    close(got, wanted)


@pytest.mark.parametrize("stride", [1, 2, -1, -3])
@pytest.mark.parametrize("begin", [0, 2, -1, -9, 9])
def test_strided_set_takes_the_bounds_of_numpy(begin: int, stride: int) -> None:
    x = floats(6, 5)
    for end in (0, 3, -1, -9, 9):
        wanted = x.copy()
        part = wanted[begin:end:stride]
        v = floats(max(part.shape[0], 1), 5, seed=1)
        part[:] = v[: part.shape[0]]
        bounds = [np.array([t], "int32") for t in (begin, end, stride)]
        close(evaluate(lambda *t: topi.strided_set(*t), x, v, *bounds), wanted)


def test_strided_set_over_whole_axes() -> None:
    x, v = floats(6, 5), floats(6, 5, seed=1)
    begin, end, strides = (np.array(t, "int32") for t in ([0], [6], [1, -1]))
    got = evaluate(lambda *t: topi.strided_set(*t), x, v, begin, end, strides)
    close(got, v[:, ::-1])
    a, value, bound = te.placeholder((6, 5)), te.placeholder((6, 5)), te.placeholder((2,), "int32")
    func = te.create_prim_func([a, value, bound, topi.strided_set(a, value, bound, bound)])
    assert len(func.script()) < 4000  # each bound stands there a few times


def test_refuses() -> None:
    a = te.placeholder((6, 5))
    with pytest.raises(ShapeError, match=r"stride 0"):
        topi.strided_slice(a, [0], [4], [0])
    with pytest.raises(ShapeError, match=r"one begin and one end"):
        topi.strided_slice(a, [0, 0, 0], [1, 1, 1])
    with pytest.raises(ValueError, match=r"slice_mode 'until'"):
        topi.strided_slice(a, [0], [4], slice_mode="until")
