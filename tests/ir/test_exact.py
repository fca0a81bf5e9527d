"""Digests of all that a program says."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.ir import IRModule, Range
from tvm.ir.exact import exact_digest
from tvm.ir.span import SourceName, Span
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def func(name: str = "A", value: float = 1.0, attr: object = "f") -> tir.PrimFunc:
    """A[i] = A[i] + value."""
    a = tir.decl_buffer((4,), "float32", name)
    handle, i = tir.Var("a", "handle"), tir.Var("i", "int32")
    body = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(a, a[i] + T.float32(value), [i]))
    return tir.PrimFunc([handle], body, None, {handle: a}, {"global_symbol": attr})


def test_the_same_program_made_again() -> None:
    assert exact_digest(func()) == exact_digest(func())
    assert exact_digest(IRModule({"f": func()})) == exact_digest(IRModule({"f": func()}))


def test_what_counts() -> None:
    placed = tir.PrimFunc(
        func().params, func().body, None, {}, {"global_symbol": "f"},
        Span(SourceName("m.py"), 1, 1, 1, 2),
    )  # fmt: skip
    found = [
        exact_digest(made)
        for made in (
            func(), func("B"), func(value=2.0), func(attr="g"), func(attr=0.0),
            func(attr=-0.0), func(attr=1), func(attr=1.0), func(attr=True), func(attr=None),
            func(attr=["f"]), func(attr={"f": "f"}), placed, IRModule({"f": func()}),
            IRModule({"g": func()}),
        )
    ]  # fmt: skip
    assert len(set(found)) == len(found)


def test_which_variable_counts_and_not_only_its_name() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert exact_digest(tir.Add(x, x)) != exact_digest(tir.Add(x, y))


def test_equal_ranges_are_told_apart() -> None:
    place = Span(SourceName("m.py"), 1, 1, 1, 2)
    one, other = Range(0, 4), Range(0, 4, place)
    assert one == other
    assert len({exact_digest(pair) for pair in ((one, one), (one, other), (other, one))}) == 3


def test_texts_cannot_look_like_other_tokens() -> None:
    digests = {
        exact_digest(tir.StringImm(text)) for text in ("a", "a\0" + "1'b", "1'a", "", "None")
    }
    assert len(digests) == 5
    assert exact_digest(("a\0" + "1'b",)) != exact_digest(("a", "b"))


def test_what_no_text_tells_is_refused() -> None:
    with pytest.raises(TVMError, match="found: a object in the program"):
        exact_digest(func(attr=object()))
