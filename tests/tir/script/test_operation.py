"""Operators build expressions as they are written."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import Range
from tvm.script import from_source
from tvm.tir.script.operation import subscript

pytestmark = pytest.mark.pure
n = tir.SizeVar("n", "int32")
A = tir.decl_buffer((16, n), "float32", "A")


def value(text: str) -> object:
    source = f"@T.prim_func(private=True)\ndef f(x: T.int32, b: T.bool):\n    T.evaluate({text})\n"
    return from_source(source).body.value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("7 <= x", tir.LE), ("7 < x", tir.LT), ("x == 7", tir.EQ), ("7 != x", tir.NE),
        ("b and x < 3", tir.And), ("b or x > 3", tir.Or), ("not b", tir.Not),
        ("0 < x < 5", tir.And), ("x if b else 3", tir.Call),
    ],
)  # fmt: skip
def test_kinds(text: str, kind: type) -> None:
    assert type(value(text)) is kind


def test_order_is_kept() -> None:
    compared = value("7 <= x")
    assert isinstance(compared, tir.LE)
    assert isinstance(compared.a, tir.IntImm)


def test_subscripts() -> None:
    assert isinstance(subscript(A, (1, n)), tir.BufferLoad)
    region = subscript(A, (slice(1, 5), n))
    assert isinstance(region, tir.BufferRegion)
    assert [str(r.extent) for r in region.region] == ["4", "1"]
    assert str(subscript(A, slice(None, 4))) == "A[0:4, 0:n]"
    assert str(subscript(A, (slice(2, None), Range(0, 4)))) == "A[2:16, 0:4]"
    vector = subscript(A, (3, slice(0, 8, 2)))
    assert isinstance(vector, tir.BufferLoad)
    assert isinstance(vector.indices[1], tir.Ramp)
