"""Places of all rows are not divided by how many there are."""

from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, SPR, scheduled
from tvm import te
from tvm.dlight.cpu import GEMM
from tvm.target import Target
from tvm.tir.expr import FloorMod, Mul, Var
from tvm.tir.functor import walk


@pytest.mark.parametrize("target", [SPR, HASWELL])
def test_rows_of_a_batch(target: Target) -> None:
    b, n = te.size_var("b"), te.size_var("n")
    x, weight = te.placeholder((b, n, 8), name="X"), te.placeholder((8, 24), name="W")
    k = te.reduce_axis((0, 8), "k")
    y = te.compute((b, n, 24), lambda i, r, c: te.sum(x[i, r, k] * weight[k, c], k), name="Y")
    after = scheduled(GEMM(), te.create_prim_func([x, weight, y]), target, {"b": 3, "n": 5})
    found = [node for node in walk(after.body) if isinstance(node, FloorMod)]
    assert found
    assert not any(isinstance(node.b, Mul) for node in found)


@pytest.mark.parametrize("target", [SPR, HASWELL])
def test_columns_of_open_batches_are_loops(target: Target) -> None:
    """Each lane's place would be divided by an extent that is known when it runs."""
    b, m, n = te.size_var("b"), te.size_var("m"), te.size_var("n")
    x, y = te.placeholder((n, 8), name="X"), te.placeholder((b, 8, m), name="Y")
    k = te.reduce_axis((0, 8), "k")
    z = te.compute((n, b, m), lambda r, i, c: te.sum(x[r, k] * y[i, k, c], k), name="Z")
    after = scheduled(GEMM(), te.create_prim_func([x, y, z]), target, {"b": 3, "m": 7, "n": 9})
    found = [node for node in walk(after.body) if isinstance(node, FloorMod)]
    assert not any(isinstance(node.b, Var) for node in found)
