"""Expressions are interpreted against the given names, and nothing else is reachable."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

from tvm.error import DiagnosticError
from tvm.script import from_source
from tvm.script import tir as T
from tvm.script.parser.core.diagnostics import Source
from tvm.script.parser.core.error import ParserError
from tvm.script.parser.core.evaluator import DEFAULT_OP, ExprEvaluator, eval_assign
from tvm.script.parser.core.parser import Parser

pytestmark = pytest.mark.pure


def value(text: str, **names: Any) -> Any:
    parser = Parser(Source(text), outer_names=names)
    return parser.eval_expr(ast.parse(text, mode="eval"))


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - 4 // 3 % 5 ** 2", "-n + ~n", "not n", "1 < n <= 7 != 8", "n in [1, 7]",
        "n is None or n", "0 and undefined", "[n, *range(3)]", "(1,)", "{'a': n, **{'b': 2}}",
        "{1, n}", "'abc'[1:3]", "[x * y for x in range(3) for y in range(x) if x > 1]",
        "{k: v for k, v in {'a': 1}.items()}", "{x for x in 'aab'}", "sum(x for x in range(n))",
        "f'{n:>4}{n!r}|{n + 1}'", "n if n > 3 else -n", "max(1, n, key=lambda v: -v)",
        "(lambda a, *b, c=2, **d: (a, b, c, d))(1, 2, 3, e=4)", "divmod(n, 4)", "'%s' % n",
        "len('abc') << 2 | 1 & 3 ^ 4", "(lambda x: [x + y for y in (1, 2)])(n)",
    ],
)  # fmt: skip
def test_python_values(text: str) -> None:
    assert value(text, n=7) == eval(text, {"n": 7})


def test_lambdas_show_their_parameters() -> None:
    assert list(inspect.signature(value("lambda i, j, *k: i")).parameters) == ["i", "j", "k"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nope", "Undefined variable: nope"),
        ("number", "did you mean 'numbers'"),
        ("numbers.real_", "no attribute"),
        ("().__class__", "may not be used in TVMScript"),
        ("numbers.gi_frame", "may not be used in TVMScript"),
        ("open('/etc/passwd')", "Undefined variable: open"),
        ("eval('1')", "Undefined variable: eval"),
        ("__import__('os')", "Undefined variable: __import__"),
        ("1 / 0", "division by zero"),
        ("'{0.__class__}'.format(1)", "str.format may not be used"),
        ("str.format('{0.__class__}', 1)", "str.format may not be used"),
        ("3(4)", "is not callable"),
        ("(yield)", "not supported"),
        ("await_.x", "Undefined variable: await_"),
    ],
)
def test_mistakes_name_the_piece(text: str, wanted: str) -> None:
    with pytest.raises((ParserError, DiagnosticError), match=wanted.replace("(", r"\(")):
        value(text, numbers=3)


def test_mistakes_are_placed_at_the_innermost_piece() -> None:
    with pytest.raises(ParserError) as caught:
        value("f(1, g)", f=max)
    assert caught.value.node.col_offset == 5  # type: ignore[attr-defined]


def test_deep_calls_are_evaluated_without_recursion() -> None:
    node: ast.expr = ast.Name("n", ast.Load())
    for _ in range(5000):
        node = ast.Call(ast.Name("f", ast.Load()), [node], [])
    parser = Parser(Source(""), outer_names={"n": 0, "f": lambda v: v + 1})
    assert parser.eval_expr(node) == 5000


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("a, b", {"a": 1, "b": [2, 3]}),
        ("a, (b, c)", {"a": 1, "b": 2, "c": 3}),
        ("*a, b", {"a": [1], "b": [2, 3]}),
        ("[a, b]", {"a": 1, "b": [2, 3]}),
    ],
)
def test_targets_take_values_apart(target: str, found: dict[str, Any]) -> None:
    stmt = ast.parse(f"{target} = v").body[0]
    assert isinstance(stmt, ast.Assign)
    assert eval_assign(Parser(Source("")), stmt.targets[0], [1, [2, 3]]) == found


def test_wrong_counts_are_refused() -> None:
    stmt = ast.parse("a, b, c = v").body[0]
    assert isinstance(stmt, ast.Assign)
    with pytest.raises(ParserError, match="cannot unpack 2 values to 3 names"):
        eval_assign(Parser(Source("")), stmt.targets[0], [1, 2])


def test_expressions_need_no_program() -> None:
    node = ast.parse("a[1:] + [b]", mode="eval").body
    assert ExprEvaluator.eval(None, {"a": [1, 2], "b": 3}, node) == [2, 3]


def test_a_name_is_given_one_value_at_a_time() -> None:
    text = "@T.prim_func\ndef f():\n    for i, i in T.grid(2, 2):\n        T.evaluate(0)\n"
    with pytest.raises(DiagnosticError, match="Duplicate vars assigned"):
        from_source(text)
    from_source(text.replace("i, i", "_, _"))


def test_programs_do_not_print(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DiagnosticError, match="Undefined variable: print"):
        from_source("@T.prim_func\ndef f():\n    print(1)\n")
    assert capsys.readouterr().out == ""


def test_builtins_are_visible_below_the_own_names() -> None:
    name = "float16"

    @T.prim_func
    def made() -> None:
        T.evaluate(getattr(T, name)(2.5))
        T.evaluate(ord("a") if issubclass(bool, int) else 0)

    assert "T.evaluate(T.float16(2.5))" in made.script()
    assert "T.evaluate(97)" in made.script()


@pytest.mark.parametrize(
    "text", ['getattr(T, "__loader__")', 'getattr("{0}", "format")(T)', "open"]
)
def test_builtins_lead_nowhere_else(text: str) -> None:
    with pytest.raises(DiagnosticError):
        from_source(f"@T.prim_func\ndef f() -> None:\n    T.evaluate({text})")


def test_operators_of_python_stand_in_one_table() -> None:
    assert DEFAULT_OP[ast.FloorDiv](7, 2) == 3
    assert DEFAULT_OP[ast.NotIn](1, (2,))
    assert DEFAULT_OP[ast.USub](3) == -3
    assert DEFAULT_OP[ast.Or](0, 4) == 4
    assert DEFAULT_OP[ast.And](0, 4) == 0
    kinds = [*ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(),
             *ast.cmpop.__subclasses__(), *ast.boolop.__subclasses__()]  # fmt: skip
    assert set(DEFAULT_OP) == {kind for kind in kinds if kind.__module__ == "ast"}
