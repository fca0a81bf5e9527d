"""Functions while they grow: names, blocks, stack slots."""

from __future__ import annotations

import pytest

from tvm.backend.host_functions import Signature
from tvm.backend.llvm.function_text import FunctionText
from tvm.backend.llvm.module_text import ModuleText

pytestmark = pytest.mark.pure


def function(*names: str) -> FunctionText:
    signature = Signature("f", "i32", tuple("i32" for _ in names))
    return FunctionText(ModuleText(), signature, list(names), ["" for _ in names], "internal")


def test_names_are_clean_and_differ() -> None:
    out = function("x", "x", "0", "a-b", "größe")
    assert out.params == ["%x", "%x.1", "%v_0", "%a_b", "%v_gr__e"]
    assert out.named("x") == "%x.2"


def test_stack_slots_stand_in_the_entry_block() -> None:
    out = function()
    out.begin("loop")
    slot = out.alloca("i8", 16, 8, "room")
    out.line("ret i32 0")
    out.finish()
    (text,) = out.module.functions
    assert text == (
        "define internal i32 @f() #0 {\nentry:\n  %room = alloca i8, i64 16, align 8\n"
        "loop:\n  ret i32 0\n}\n"
    )
    assert slot == "%room"


def test_a_marked_place_is_filled_later() -> None:
    out = function()
    place = out.mark()
    out.line("second")
    out.patch(place, "first")
    out.mark()  # never filled: leaves no line
    out.finish()
    assert "entry:\n  first\n  second\n}" in out.module.functions[0]
