from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.transform.rolling_window import moving_window

I, N = tir.Var("i", "int32"), tir.Var("n", "int32")
SIX = tir.const(6, "int32")

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("low", "extent", "found"),
    [
        (I, SIX, (I, 5)),
        (I * 4, SIX, (I, 2)),
        (I * 8, SIX, (I, -2)),
        (tir.floordiv(I, 2), SIX, (I, 5)),
        (tir.floordiv(I * 4, 2), SIX, (I, 4)),
        (I * 4 + 1, SIX, (None, 0)),
        (I * N, SIX, (None, 0)),
        (I * -1, SIX, (None, 0)),
        (I, N, (None, 0)),
        (tir.const(3, "int32"), SIX, (None, 0)),
    ],
)
def test_windows(low: tir.PrimExpr, extent: tir.PrimExpr, found: tuple) -> None:
    var, overlap = moving_window(low, extent)
    assert var is found[0]
    assert overlap == found[1]
