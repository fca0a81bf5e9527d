from __future__ import annotations

import numpy as np
import pytest

import tvm
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


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("k", [1, 2, 7, 15])
def test_few_of_many_are_selected_as_a_stable_sort_gives_them(k: int, up: bool) -> None:
    x = rng(k).integers(0, 12, (3, 60)).astype("float32")
    x[1, 5:9] = np.nan
    x[2] = np.sort(x[2]) if up else -np.sort(-x[2])
    key = np.where(np.isnan(x), np.inf, x if up else -x)
    order = np.argsort(key, 1, kind="stable")[:, :k]
    values, places = evaluate(lambda a: topi.topk(a, k, 1, is_ascend=up), x)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_open_extents_select_or_sort_by_the_sizes_of_the_call() -> None:
    rows, length, k = (te.var(name, "int64") for name in ("rows", "length", "k"))
    data = te.placeholder((rows, length))
    values, places = topi.topk(data, k, 1)
    func = te.create_prim_func([data, values, places, k])
    run = tvm.compile(func, "llvm")
    for count, most in ((3, 40), (9, 10), (1, 1), (5, 20), (6, 20)):
        x = rng(count).integers(0, 9, (2, most)).astype("float32")
        got = [np.zeros((2, count), kind) for kind in ("float32", "int64")]
        held = [tvm.runtime.tensor(one) for one in (x, *got)]
        run(*held, count)
        order = np.argsort(-x, 1, kind="stable")[:, :count]
        np.testing.assert_array_equal(held[2].numpy(), order)
        np.testing.assert_array_equal(held[1].numpy(), np.take_along_axis(x, order, 1))
