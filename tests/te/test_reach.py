"""Axes that are longer than those of the tensors which they go along."""

from __future__ import annotations

import pytest

from tvm import te, tir
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


def test_a_longer_axis_is_refused() -> None:
    a = te.placeholder((3, 4), name="a")
    with pytest.raises(ShapeError, match=r"rows 0 to 4 of axis 0 of 'a'\n  found: an axis of 3"):
        te.compute((5, 4), lambda i, j: a[i, j] + 1.0, name="b")
    k = te.reduce_axis((0, 5), "k")
    with pytest.raises(ShapeError, match=r"rows 0 to 4 of axis 1 of 'a'"):
        te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="b")


def test_what_may_be_inside_is_taken() -> None:
    n = te.var("n")
    a, b = te.placeholder((3,), name="a"), te.placeholder((n,), name="b")
    zero = tir.const(0, "float32")
    te.compute((5,), lambda i: tir.if_then_else(i < 3, a[i], zero))
    te.compute((5,), lambda i: tir.Select(i < 3, a[i], zero))
    te.compute((2,), lambda i: a[i])
    te.compute((5,), lambda i: a[te.min(i, 2)])
    te.compute((5,), lambda i: b[i])
