"""Lines of a function: names, blocks, unread variables."""

from __future__ import annotations

import pytest

from tvm.backend.c.function_text import FunctionText, in_statement
from tvm.backend.c.source_text import SourceText
from tvm.backend.c_family.code import Code
from tvm.backend.host_functions import Signature

pytestmark = pytest.mark.pure


def function(*names: str) -> FunctionText:
    signature = Signature("f", "int32_t", tuple("float*" for _ in names))
    return FunctionText(SourceText(), signature, names, [True] * len(names))


def test_names_of_c_are_left_alone() -> None:
    out = function("exp", "a.b", "while")
    assert out.params == ["exp_", "a_b", "while_"]
    assert out.fresh("max_f32") == "max_f32_"


def test_what_nobody_reads_is_marked() -> None:
    out = function("a", "b")
    out.read("a")
    used, unused = out.declare("int32_t", "x", "1"), out.declare("float*", "y", "a")
    out.read(used)
    out.finish()
    text = out.module.functions[0]
    assert f"float* {unused} = a; (void){unused};" in text
    assert f"const int32_t {used} = 1;\n" in text
    assert "(void)b;" in text
    assert "(void)a;" not in text


def test_lines_apart_become_one_expression() -> None:
    out = function()
    with out.apart() as lines:
        name = out.declare("float", "t", "g()")
        out.read(name)
    assert out.lines == []
    assert in_statement(lines, Code(name)) == "({ const float t = g(); t; })"
    assert in_statement([], Code(name)) == name
