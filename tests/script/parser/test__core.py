"""A dialect of a user, written with what the parser offers."""

from __future__ import annotations

import pytest

from tvm.script.parser import _core
from tvm.script.parser.core.diagnostics import Source

pytestmark = pytest.mark.pure


def test_a_dialect_of_its_own() -> None:
    words: list[str] = []

    @_core.dispatch.register("words", "FunctionDef")
    def visit_function_def(self: _core.Parser, node: _core.doc.FunctionDef) -> None:
        with self.with_dispatch_token("words"):
            self.visit_body(node.body)

    @_core.dispatch.register("words", "Expr")
    def visit_expr(self: _core.Parser, node: _core.doc.Expr) -> None:
        words.append(self.eval_expr(node.value))

    @_core.dispatch.register("words", "Pass")
    def visit_pass(self: _core.Parser, node: _core.doc.Pass) -> None:
        words.append("pass")

    def say(func: object) -> object:
        return func

    say.dispatch_token = "words"  # type: ignore[attr-defined]
    text = "@say\ndef f():\n    greeting + ' you'\n    pass\n"
    parser = _core.Parser(Source(text), {}, {"say": say, "greeting": "hi"})
    parser.parse()
    assert words == ["hi you", "pass"]


def test_the_names_of_a_function() -> None:
    around = 3

    def func() -> int:
        return around

    assert _core.utils.inspect_function_capture(func)["around"] == 3
    source, names = _core.scan_macro("x + 1", {"x": 2})
    assert (source.source, names) == ("x + 1", {"x": 2})
