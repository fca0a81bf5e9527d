"""Every expression and statement of the reference exists, with its fields."""

from __future__ import annotations

import re

import pytest

from tests.structure.reference import DATA
from tvm import tir
from tvm.ir.expr import PrimExpr
from tvm.ir.node import NODE_TYPES

pytestmark = pytest.mark.pure
ROW = re.compile(r"((?:tir|ir)\.\w+) < (\w+): (.*)")
BASES = ("PrimExprNode", "StmtNode", "VarNode", "PrimExprConvertibleNode")


def rows() -> list[tuple[str, str, set[str]]]:
    found = []
    for line in (DATA / "nodes.txt").read_text().splitlines():
        match = ROW.match(line)
        if match is not None:
            names = {part.strip().rstrip("*~") for part in match[3].split(",") if part.strip()}
            found.append((match[1], match[2], names))
    return found


def test_expressions_and_statements_have_their_fields() -> None:
    wanted = [r for r in rows() if r[1] in BASES and r[2]]
    assert len(wanted) >= 34
    for key, _, names in wanted:
        have = {field.name for field in NODE_TYPES.get(key).FIELDS}
        assert names <= have, f"{key}: {names - have}"


def test_every_expression_and_statement_can_be_visited() -> None:
    from tvm.tir.functor import TirFunctor

    for key, _, _ in rows():
        cls = NODE_TYPES.find(key)
        if cls is not None and issubclass(cls, (PrimExpr, tir.Stmt)):
            visited = vars(cls).get("accept")
            assert visited is not None or cls.__name__ in ("PrimExpr", "Stmt"), key
    assert hasattr(TirFunctor, "visit_buffer_store_")
