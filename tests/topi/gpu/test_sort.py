"""Sorting on threads of a GPU, run by the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import evaluate, floats
from tvm import te, tir, topi

pytestmark = pytest.mark.pure


@pytest.mark.covering(1)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("ascending", [True, False])
def test_sorted_elements_and_places(axis: int, ascending: bool) -> None:
    x = floats(3, 5, 4)
    wanted = np.sort(x, axis) if ascending else -np.sort(-x, axis)
    places = np.argsort(x if ascending else -x, axis, kind="stable")
    np.testing.assert_array_equal(
        evaluate(lambda a: topi.gpu.sort(a, axis, ascending), x), wanted
    )
    values, found = evaluate(
        lambda a: topi.gpu.argsort(a, axis, ascending, "int32", "both"), x
    )
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(found, places)


def test_equal_elements_keep_their_order() -> None:
    x = np.array([[2, 1, 2, 1, 2, 1]], "int32")
    found = evaluate(lambda a: topi.gpu.argsort(a, dtype="int64"), x)
    np.testing.assert_array_equal(found, [[1, 3, 5, 0, 2, 4]])


def test_the_statement_sorts_without_places() -> None:
    x = floats(2, 7)
    data, out, spare = (tir.decl_buffer((2, 7), "float32", n) for n in ("data", "out", "spare"))
    stmt = topi.gpu.sort_ir(data, out, spare, 1, True)
    func = tir.PrimFunc([b.data for b in (data, out, spare)], stmt, None,
                        {b.data: b for b in (data, out, spare)})  # fmt: skip
    results = np.zeros_like(x), np.zeros_like(x)
    tir.interp.run(func.with_attr("global_symbol", "main"), x, *results)
    np.testing.assert_array_equal(results[0], np.sort(x, 1))


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
def test_largest(ret_type: str) -> None:
    x = floats(3, 6)
    order = np.argsort(-x, 1, kind="stable")[:, :2]
    found = evaluate(lambda a: topi.gpu.topk(a, 2, ret_type=ret_type), x)
    found = found if ret_type == "both" else [found]
    wanted = [np.take_along_axis(x, order, 1), order]
    for a, b in zip(found, wanted if ret_type != "indices" else wanted[1:], strict=False):
        np.testing.assert_array_equal(a, b)


def test_places_in_sorted_rows() -> None:
    rows, values = np.sort(floats(2, 6)), floats(2, 3, seed=1)
    found = evaluate(topi.gpu.searchsorted, rows, values)
    np.testing.assert_array_equal(found, [np.searchsorted(r, v) for r, v in zip(rows, values)])


def test_thrust_is_called_by_name() -> None:
    x = te.placeholder((2, 3), "float32", "x")
    outs = [topi.gpu.sort_thrust(x), topi.gpu.argsort_thrust(x),
            *topi.gpu.topk_thrust(x, 2)]  # fmt: skip
    text = te.create_prim_func([x, *outs]).script()
    assert text.count("tvm.contrib.thrust.sort") == 3
    with pytest.raises(ValueError, match="along the last axis"):
        topi.gpu.sort_thrust(x, axis=0)
