"""Rows past the end are no copies with zeros."""

from __future__ import annotations

import pytest

from tests.dlight.programs import matmul, scheduled
from tvm import te
from tvm.dlight.cpu import GEMM


@pytest.mark.parametrize("m", [2, 3, 7, 17, 63, 65])
@pytest.mark.parametrize("n", [16, 33])
def test_the_last_row_is_read_again(m: int, n: int) -> None:
    after = scheduled(GEMM(), matmul(m, n, 5))
    rows = int(str(after.attrs["schedule_reason"]).partition("x")[0])
    text = after.script()
    assert "A_pad" not in text
    assert ("T.min(" in text) == (m % rows != 0)


@pytest.mark.parametrize(("b", "n"), [(1, 1), (2, 3), (1, 7), (3, 4), (0, 5)])
def test_fused_symbolic_rows(b: int, n: int) -> None:
    batch, length = te.size_var("b"), te.size_var("n")
    x, w = te.placeholder((batch, length, 9), name="X"), te.placeholder((9, 20), name="W")
    k = te.reduce_axis((0, 9), name="k")
    y = te.compute(
        (batch, length, 20), lambda i, j, c: te.sum(x[i, j, k] * w[k, c], axis=k), name="Y"
    )
    text = scheduled(GEMM(), te.create_prim_func([x, w, y]), sizes={"b": b, "n": n}).script()
    assert "T.min(" in text
    assert "X_" not in text
