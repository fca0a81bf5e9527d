"""Lines that are too deep for Python's own parser are read all the same."""

from __future__ import annotations

import ast

import pytest

from tvm.script.parser.core.long_lines import parse_source

pytestmark = pytest.mark.pure


def _value(text: str) -> ast.expr:
    stmt = parse_source(text).body[0]
    assert isinstance(stmt, (ast.Assign, ast.Return, ast.Expr))
    assert stmt.value is not None
    return stmt.value


def _depth(node: ast.expr, side: str) -> int:
    depth = 0
    while isinstance(node, ast.BinOp):
        node = getattr(node, side)
        depth += 1
    return depth


def test_long_chains() -> None:
    text = "x = " + " + ".join(f"a[{i}]" for i in range(8000))
    assert _depth(_value(text), "left") == 7999
    text = "x = " + " * ".join("abc" for _ in range(8000))
    assert _depth(_value(text), "left") == 7999


def test_precedence_survives_the_cuts() -> None:
    text = "x = " + " - ".join(f"a * {i} // b" for i in range(4000)) + " < 3"
    compare = _value(text)
    assert isinstance(compare, ast.Compare)
    assert isinstance(compare.left, ast.BinOp)
    assert isinstance(compare.left.op, ast.Sub)
    assert ast.unparse(compare.left.right) == "a * 3999 // b"


def test_deep_brackets() -> None:
    assert _depth(_value("x = " + "(a + " * 3000 + "b" + ")" * 3000), "right") == 3000
    call = _value("f(x, k=" * 500 + "y" + ")" * 500)
    depth = 0
    while isinstance(call, ast.Call):
        call, depth = call.keywords[0].value, depth + 1
    assert depth == 500


def test_other_lines_and_places_stay() -> None:
    deep = "x = " + "(a + " * 300 + "b" + ")" * 300
    tree = parse_source(f"if c:\n    y = lambda q: q['s)']  # note (\n    {deep}\nz = 1\n")
    choice = tree.body[0]
    assert isinstance(choice, ast.If)
    inner = choice.body[1]
    assert isinstance(inner, ast.Assign)
    assert {node.lineno for node in ast.walk(inner) if isinstance(node, ast.Name)} == {3}
    assert tree.body[1].lineno == 4


def test_wrong_text_is_still_wrong() -> None:
    with pytest.raises(SyntaxError):
        parse_source("x = (")
