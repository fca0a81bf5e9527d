"""The tree is Python's own; users may convert kinds of nodes on the way."""

from __future__ import annotations

import ast

import pytest

from tvm.script.parser.core import doc, doc_core

pytestmark = pytest.mark.pure


def test_names_of_the_tree() -> None:
    assert doc.BinOp is ast.BinOp
    assert all(issubclass(getattr(doc_core, name), ast.AST) for name in doc_core.__all__)
    tree = doc.parse("x + 1")
    assert isinstance(tree, ast.Module)
    assert isinstance(doc.parse("x + 1", mode="eval"), ast.Expression)


def test_conversions() -> None:
    node = ast.Starred(ast.Name("x"))
    assert doc.to_doc(node) is node
    doc.register_to_doc("Starred")(lambda n: "to")
    doc.register_from_doc("Starred")(lambda n: "from")
    try:
        assert (doc.to_doc(node), doc.from_doc(node)) == ("to", "from")
    finally:
        del doc._REGISTRY.table["Starred"]
