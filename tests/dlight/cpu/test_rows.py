from __future__ import annotations

import pytest

from tests.dlight.programs import scheduled, softmax
from tvm import te, tir
from tvm.dlight.cpu import Fallback


@pytest.mark.parametrize(("n", "c"), [(1, 10), (5, 64), (3, 100), (4, 37)])
def test_softmax(n: int, c: int) -> None:
    after = scheduled(Fallback(), softmax(n, c))
    assert "passes over each row in one loop" in str(after.attrs["schedule_reason"])


def test_layer_norm() -> None:
    n, c = 4, 32
    a = te.placeholder((n, c), name="A")
    k, r = te.reduce_axis((0, c), name="k"), te.reduce_axis((0, c), name="r")
    total = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="S")
    square = te.compute((n,), lambda i: te.sum(a[i, r] * a[i, r], axis=r), name="Q")

    def norm(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        mean = total[i] / 32.0
        return (a[i, j] - mean) * tir.rsqrt(square[i] / 32.0 - mean * mean + 1e-5)

    func = te.create_prim_func([a, te.compute((n, c), norm, name="B")])
    after = scheduled(Fallback(), func)
    assert "passes over each row in one loop" in str(after.attrs["schedule_reason"])
