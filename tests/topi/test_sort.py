from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("up", [True, False])
def test_sort(axis: int, up: bool) -> None:
    x = floats(4, 7)
    wanted = np.sort(x, axis) if up else -np.sort(-x, axis)
    close(evaluate(lambda a: topi.sort(a, axis, up), x), wanted)


@pytest.mark.parametrize("axis", [0, 1])
def test_equal_elements_keep_their_order(axis: int) -> None:
    x = rng().integers(0, 3, (5, 9)).astype("int32")
    for up, wanted in (
        (True, np.argsort(x, axis, kind="stable")),
        (False, np.argsort(-x, axis, kind="stable")),
    ):
        close(
            evaluate(lambda a, u=up: topi.argsort(a, axis=axis, is_ascend=u, dtype="int32"), x),
            wanted,
        )


def test_part_of_each_row() -> None:
    x, n = floats(3, 6), np.array([2, 6, 0], "int32")
    wanted = np.tile(np.arange(6), (3, 1))
    for row, count in enumerate(n):
        wanted[row, :count] = np.argsort(x[row, :count])
    close(evaluate(lambda a, c: topi.argsort(a, c, 1, dtype="int32"), x, n), wanted)


def test_not_a_number_comes_last() -> None:
    x = np.array([3, np.nan, 1, 2], "float32")
    np.testing.assert_array_equal(evaluate(topi.sort, x), [1, 2, 3, np.nan])


def test_topk() -> None:
    x = floats(3, 8)
    order = np.argsort(-x, 1)[:, :3]
    values, places = evaluate(lambda a: topi.topk(a, 3, 1), x)
    close(values, np.take_along_axis(x, order, 1))
    close(places, order)
    assert places.dtype == "int64"
    close(evaluate(lambda a: topi.topk(a, 0, 1, "values", True), x), np.sort(x, 1))
    close(evaluate(lambda a: topi.topk(a, 2, 0, "indices", True, "int32"), x), np.argsort(x, 0)[:2])
    with pytest.raises(ValueError, match=r"ret_type 'all'"):
        topi.topk(te.placeholder((3,)), 1, ret_type="all")
