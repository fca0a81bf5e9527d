"""Documents are built as their users expect, and refuse what has no meaning."""

from __future__ import annotations

import pytest

from tvm.ir.access_path import AccessPath
from tvm.script.printer import doc as d

pytestmark = pytest.mark.pure


def test_literals_keep_their_value_and_path() -> None:
    path = AccessPath.root().attr("value")
    assert d.LiteralDoc(1.5, path).source_paths == (path,)
    assert [d.LiteralDoc(v).value for v in (None, True, 3, 2.5, "x")] == [None, True, 3, 2.5, "x"]
    with pytest.raises(TypeError, match="Unsupported type list"):
        d.LiteralDoc([1])  # type: ignore[arg-type]


def test_expressions_compose() -> None:
    call = d.IdDoc("f").attr("g").call(d.IdDoc("x"), key=d.LiteralDoc(1))
    assert isinstance(call.callee, d.AttrAccessDoc)
    assert call.kwargs_keys == ("key",)
    index = d.IdDoc("A")[d.LiteralDoc(0), d.LiteralDoc(1) : d.LiteralDoc(2)]
    assert [type(part) for part in index.indices] == [d.LiteralDoc, d.SliceDoc]
    with pytest.raises(RuntimeError, match="cannot be used as an iterator"):
        iter(d.IdDoc("x"))
    with pytest.raises(TypeError, match="an index is an ExprDoc"):
        d.IdDoc("x")["y"]


def test_statements_refuse_what_python_has_no_form_for() -> None:
    with pytest.raises(ValueError, match="annotation can only be nonnull if lhs is an identifier"):
        d.AssignDoc(d.TupleDoc([]), None, d.IdDoc("t"))
    with pytest.raises(ValueError, match="At least one of rhs and annotation"):
        d.AssignDoc(d.IdDoc("x"), None)
    with pytest.raises(ValueError, match="At least one of the then branch or else branch"):
        d.IfDoc(d.IdDoc("x"), [], [])


def test_operation_kinds_are_grouped_by_operands() -> None:
    kinds = d.OperationKind
    assert kinds._UnaryStart < kinds.Not < kinds._UnaryEnd
    assert kinds._BinaryStart < kinds.Add < kinds.Or < kinds._BinaryEnd < kinds.IfThenElse


def test_fields_are_set_and_users_add_notes() -> None:
    stmt = d.ExprStmtDoc(d.IdDoc("x"))
    stmt.comment = "note"
    stmt.seen = True  # type: ignore[attr-defined]
    assert stmt.comment == "note"
    assert vars(stmt) == {"seen": True}
    path = AccessPath.root()
    stmt.source_paths = [path]
    assert not isinstance(stmt.source_paths, list)
    assert list(stmt.source_paths) == [path]
