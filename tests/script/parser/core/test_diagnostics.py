"""Mistakes are shown with file, line, column, the line itself and a caret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tvm.error import DiagnosticError, ScriptError
from tvm.ir import diagnostics
from tvm.script import from_source
from tvm.script import tir as T
from tvm.script.parser.core.diagnostics import Source, getsourcelines

pytestmark = pytest.mark.pure
HEAD = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n'


def failure(body: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        from_source(HEAD + body)
    return str(caught.value)


def test_the_place_is_shown() -> None:
    assert failure("    A[0] = A[1] + nope\n") == (
        "error: Undefined variable: nope\n"
        " --> <str>:3:19\n"
        "   |\n"
        " 3 |      A[0] = A[1] + nope\n"
        "   |                    ^^^^"
    )


def test_several_mistakes_at_once_and_no_consequences() -> None:
    text = failure(
        "    x = nope + 1\n"
        "    A[0] = x\n"  # follows from the first
        "    for i in wrong:\n"
        "        A[i] = 1\n"
        "    with T.block('b'):\n"
        "        T.nonsense(1)\n"
        "        A[1, 2] = 3\n"
    )
    assert text.count("error:") == 4
    for wanted in ("nope", "wrong", "T has no word 'nonsense'", "cannot be indexed"):
        assert wanted in text


def test_text_that_is_no_python() -> None:
    with pytest.raises(DiagnosticError, match=r"invalid syntax: .*\n --> <str>:2:") as caught:
        from_source("def f(:\n   x y\n".replace("(:", "():"))
    assert "^" in str(caught.value)


def test_decorated_functions_are_placed_in_their_file() -> None:
    with pytest.raises(DiagnosticError, match=r"test_diagnostics\.py") as caught:

        @T.prim_func
        def wrong(A: T.Buffer((4,), "int32")):
            A[0] = missing_name

    line = int(str(caught.value).split(":")[3])
    assert "missing_name" in Path(__file__).read_text().split("\n")[line - 1]


def test_an_own_renderer_sees_the_diagnostics() -> None:
    seen: list[Any] = []
    diagnostics.override_renderer(lambda ctx: seen.extend(ctx.diagnostics))
    try:
        failure("    A[0] = nope\n")
    finally:
        diagnostics.override_renderer(None)
    assert [(d.span.line, d.message) for d in seen] == [(3, "Undefined variable: nope")]


def test_columns_count_characters_in_front_of_the_caret() -> None:
    text = failure('    T.evaluate("üüü" + nope)\n')
    assert text.split("\n")[-1].endswith("^^^^")


class Repeated:
    def one(self) -> None: ...


First = Repeated


class Repeated:  # type: ignore[no-redef]
    def two(self) -> None: ...


def test_classes_of_one_name_are_told_apart() -> None:
    assert "def one" in "".join(getsourcelines(First)[0])
    assert "def two" in "".join(getsourcelines(Repeated)[0])


def test_no_text_is_no_program() -> None:
    space: dict[str, Any] = {}
    exec("def f(): pass", space)
    with pytest.raises((ScriptError, OSError, TypeError)):
        Source(space["f"])
