from __future__ import annotations

import pytest

from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.transform.lifetimes import Lives

pytestmark = pytest.mark.pure


def _size(op: s.Allocate) -> int | None:
    return 1 if op.buffer_var.name != "Free" else None


def test_from_the_first_use_to_the_last() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        X = T.allocate([1], "float32")
        Y = T.allocate([1], "float32")
        Free = T.allocate([1], "float32")
        x = T.Buffer((1,), "float32", data=X)
        y = T.Buffer((1,), "float32", data=Y)
        x[0] = A[0]
        A[1] = x[0]
        y[0] = A[1]
        A[2] = y[0]

    lives = Lives(_size)
    lives.visit_stmt(func.body)
    x, y = lives.entries.values()
    assert x.first is not None
    assert y.first is not None
    assert x.first < x.last < y.first < y.last


def test_in_a_loop_until_its_end() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        X = T.allocate([1], "float32")
        Y = T.allocate([1], "float32")
        x = T.Buffer((1,), "float32", data=X)
        y = T.Buffer((1,), "float32", data=Y)
        for i in range(4):
            A[i] = x[0]
            y[0] = A[i]
            x[0] = A[i + 1]

    lives = Lives(_size)
    lives.visit_stmt(func.body)
    x, y = lives.entries.values()
    assert x.first is not None
    assert y.first is not None
    assert x.first <= y.first
    assert y.last <= x.last
