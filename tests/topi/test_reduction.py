from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure

FLOATS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), [1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    x = floats(3, 4, 5)
    own = tuple(axis) if isinstance(axis, list) else axis
    wanted = FLOATS[name](x, axis=own, keepdims=keepdims)
    got = evaluate(lambda a: getattr(topi, name)(a, axis, keepdims), x)
    close(got, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("name", ["all", "any"])
def test_bools(name: str) -> None:
    x = rng().random((3, 4)) > 0.4
    close(evaluate(lambda a: getattr(topi, name)(a, 1), x), getattr(np, name)(x, 1))
    close(evaluate(lambda a: topi.sum(a, 1), x), np.any(x, 1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name: str) -> None:
    x = rng().integers(0, 3, (4, 7)).astype("int32")
    rule = getattr(np, name)
    close(evaluate(lambda a: getattr(topi, name)(a, 1), x), rule(x, 1))
    close(evaluate(lambda a: getattr(topi, name)(a), x), np.array(rule(x)))
    last = 6 - rule(x[:, ::-1], 1)
    close(evaluate(lambda a: getattr(topi, name)(a, 1, select_last_index=True), x), last)
    kept = evaluate(lambda a: getattr(topi, name)(a, 1, keepdims=True), x)
    close(kept, rule(x, 1)[:, None])


def test_symbolic() -> None:
    x = floats(3, 4)
    close(evaluate(lambda a: topi.sum(a, 1), x, symbolic=True), x.sum(1), 1e-5, 1e-5)


def test_collapse_sum() -> None:
    x = floats(2, 3, 4)
    close(evaluate(lambda a: topi.collapse_sum(a, (3, 1)), x), x.sum((0, 2))[:, None], 1e-5, 1e-5)
    close(evaluate(lambda a: topi.collapse_sum(a, (2, 3, 4)), x), x)
    with pytest.raises(ShapeError, match=r"or 1 in the target"):
        topi.collapse_sum(te.placeholder((4,)), (3,))
    with pytest.raises(ShapeError, match=r"no more dimensions"):
        topi.collapse_sum(te.placeholder((4,)), (1, 4))


def test_refuses() -> None:
    with pytest.raises(ShapeError, match=r"Cannot reduce a 0 dim Tensor"):
        topi.sum(te.placeholder(()))
    with pytest.raises(IndexError, match=r"topi.sum: axis 2"):
        topi.sum(te.placeholder((3, 4)), 2)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "bool"])
def test_a_row_of_zeros_has_a_largest_element(dtype: str) -> None:
    x = np.zeros((2, 3), dtype)
    close(evaluate(lambda a: topi.argmin(a, 1), ~x), np.int32([0, 0]))
    x[1, 2] = 1
    close(evaluate(lambda a: topi.argmax(a, 1), x), np.int32([0, 2]))
    close(evaluate(lambda a: topi.argmax(a, 1, select_last_index=True), x), np.int32([2, 2]))
    close(evaluate(lambda a: topi.argmax(a, []), x), np.zeros(x.shape, "int32"))
