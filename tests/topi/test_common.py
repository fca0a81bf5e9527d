from __future__ import annotations

import pytest

from tvm import te
from tvm.tir import interp
from tvm.topi.common import is_one, known, ravel, same_extent, stage, unravel

pytestmark = pytest.mark.pure


def test_extents() -> None:
    n = te.var("n")
    assert same_extent(4, te.const(4))
    assert same_extent(n, n)
    assert same_extent(n + n, n * 2)
    assert not same_extent(n, te.var("n"))
    assert is_one(te.const(1, "int64"))
    assert not known(n)


def test_numbers_of_elements() -> None:
    i, j = te.var("i"), te.var("j")
    number = ravel([i, j], [3, 5])
    at = {i: 2, j: 4}
    assert interp.evaluate(number, at) == 14
    assert [interp.evaluate(x, at) for x in unravel(number, [3, 5])] == [2, 4]
    assert interp.evaluate(ravel([], [])) == 0


def test_axes_are_numbered() -> None:
    a = te.placeholder((2, 3))
    assert [axis.var.name for axis in stage((2, 3), lambda *i: a(*i), "s").op.axis] == [
        "ax0",
        "ax1",
    ]
