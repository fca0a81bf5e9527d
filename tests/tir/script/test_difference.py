"""The extent of a slice is found as it was written."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.script.difference import difference

pytestmark = pytest.mark.pure
x, y, n = (tir.Var(name, "int32") for name in "xyn")
A = tir.decl_buffer((8,), "int32", "A")


def test_literal_extents() -> None:
    for start in (x, x * 4, x * 4 + y, x // 2 % 3 - y, A[x] + 1, tir.IntImm("int32", 3)):
        extent = difference(start + 8, start)
        assert isinstance(extent, tir.IntImm)
        assert extent.value == 8
    assert difference(x, x).value == 0  # type: ignore[attr-defined]


def test_symbolic_extents_keep_their_form() -> None:
    extent = n * 2
    assert difference(x * 3 + extent, x * 3) is extent
    assert difference(n, tir.IntImm("int32", 0)) is n


def test_what_stays_is_simplified() -> None:
    assert str(difference(x * 4 + 8, x * 4 + y)) in ("8 - y", "y * -1 + 8")
