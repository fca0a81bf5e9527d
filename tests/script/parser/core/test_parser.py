"""What the parser does whatever the dialect: macros, places of nodes, imports, top level."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import tir
from tvm.error import DiagnosticError, ScriptError
from tvm.script import from_source
from tvm.script import tir as T
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


def test_every_node_knows_its_line() -> None:
    func = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), n: T.int32):\n'
        "    for i in range(4):\n"
        "        A[i] = A[i] * 2.0 + T.exp(A[0])\n"
        "    if n < 3:\n"
        "        A[n] = 1.0\n"
    )
    assert func.span.line == 2
    lines = {type(p).__name__: p.span.line for p in walk(func.body) if p.span is not None}
    assert (lines["For"], lines["Add"], lines["IfThenElse"], lines["LT"]) == (3, 4, 5, 5)
    bare = [p for p in walk(func.body) if p.span is None and not isinstance(p, tir.IntImm)]
    assert not bare


def test_imports_are_for_readers_only() -> None:
    head = "from tvm.script import tir as T\n\n"
    assert from_source(head + "@T.prim_func\ndef f():\n    T.evaluate(0)\n") is not None
    with pytest.raises(DiagnosticError, match="give 'os' in extra_vars"):
        from_source("import os\n@T.prim_func\ndef f():\n    T.evaluate(0)\n")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f():\n    pass\n", "Function must be decorated"),
        ("@len\ndef f():\n    pass\n", "does not understand the decorator"),
        ("print(1)\n", "outside of any function"),
        ("for i in range(3):\n    pass\n", "For is not supported here"),
        ("a = b = 1\n", "Consequential assignments"),
    ],
)
def test_mistakes_outside_of_functions(text: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        from_source(text)


def test_an_empty_text_is_no_program() -> None:
    with pytest.raises(DiagnosticError, match="defines no function and no module"):
        from_source("x = 1\n")


OFFSET = 2


@T.macro
def store_pair(A: Any, i: Any, value: Any) -> None:
    A[i] = value
    A[i + OFFSET] = value


@T.macro(hygienic=False)
def store_here(value: Any) -> None:
    B[OFFSET] = value  # the B of the place where it is called


def test_macros_are_read_where_they_are_called() -> None:
    @T.prim_func(private=True)
    def func(B: T.Buffer((8,), "int32")):
        for i in range(4):
            store_pair(B, i, i * 2)
        store_here(5)

    @T.prim_func(private=True)
    def expected(B: T.Buffer((8,), "int32")):
        for i in range(4):
            B[i] = i * 2
            B[i + 2] = i * 2
        B[2] = 5

    assert func.script() == expected.script()
    with pytest.raises(ScriptError, match="outside of TVMScript"):
        store_pair(1, 2, 3)


def test_a_macro_may_call_itself() -> None:
    @T.macro
    def count_down(A: Any, n: Any) -> None:
        if n > 0:
            A[n] = T.float32(n)
            count_down(A, n - 1)

    @T.prim_func
    def counted(A: T.Buffer((8,), "float32")):
        count_down(A, 3)

    assert counted.script().count("] = T.float32(") == 3
