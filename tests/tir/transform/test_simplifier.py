"""The mutator behind Simplify, used by itself."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.transform.simplifier import Simplifier

pytestmark = pytest.mark.pure
x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
A = tir.decl_buffer((16,), "int32", name="A")


def test_expressions_under_what_is_bound() -> None:
    store = tir.BufferStore(A, x + y - x, [x // 4 * 4 + x % 4])
    found = Simplifier().visit_stmt(tir.For(x, 0, 16, tir.ForKind.SERIAL, store)).body
    assert found.value.same_as(y)
    assert found.indices[0].same_as(x)


def test_a_name_for_a_literal_is_the_literal() -> None:
    let = tir.LetStmt(x, tir.const(3, "int32"), tir.BufferStore(A, x + y, [x]))
    found = Simplifier().visit_stmt(let)
    assert isinstance(found, tir.BufferStore)
    assert int(found.indices[0]) == 3
