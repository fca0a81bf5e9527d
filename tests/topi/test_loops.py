from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.tir import interp
from tvm.topi.loops import grid, let, load, local, loop, repeat_while, sequence, store, when

pytestmark = pytest.mark.pure


def test_statements() -> None:
    a, b = tir.decl_buffer((4, 3), "int32", "a"), tir.decl_buffer((4,), "int32", "b")

    def row(i: tir.Var) -> tir.Stmt:
        def total(t: tir.Buffer) -> tir.Stmt:
            add = lambda j: store(t, load(t, 0) + load(a, i, j), 0)
            odd = let(load(t, 0), lambda v: when(tir.EQ(v % 2, 1), store(b, v, i), store(b, -v, i)))
            return sequence(store(t, 0, 0), loop(3, add), odd)

        return local("int32", total)

    values, out = np.arange(12, dtype="int32").reshape(4, 3), np.zeros(4, "int32")
    interp.run(tir.PrimFunc([a, b], loop(4, row)), values, out)
    sums = values.sum(1)
    np.testing.assert_array_equal(out, np.where(sums % 2 == 1, sums, -sums))


def test_grid_and_while() -> None:
    a = tir.decl_buffer((2, 3), "float32", "a")
    body = sequence(
        grid((2, 3), lambda i, j: store(a, i * 3 + j, i, j)),
        repeat_while(load(a, 0, 0) < 5.0, store(a, load(a, 0, 0) + 2.0, 0, 0)),
    )
    out = np.zeros((2, 3), "float32")
    interp.run(tir.PrimFunc([a], body), out)
    np.testing.assert_array_equal(out, [[6, 1, 2], [3, 4, 5]])
