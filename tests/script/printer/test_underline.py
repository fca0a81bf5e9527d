"""Underlines, line numbers and left-out lines."""

from __future__ import annotations

import pytest

from tvm.script.printer.underline import Mark, decorate

pytestmark = pytest.mark.pure
TEXT = "first\n    second line\nthird\nfourth"


def test_marks_skip_indentation() -> None:
    assert decorate(TEXT, [Mark(6, 16)], False, None).split("\n")[2] == "    ^^^^^^"


def test_a_mark_may_span_lines() -> None:
    shown = decorate(TEXT, [Mark(0, 16)], False, None).split("\n")
    assert shown[1] == "^^^^^"
    assert shown[3] == "    ^^^^^^"


def test_line_numbers_shift_the_carets() -> None:
    shown = decorate(TEXT, [Mark(22, 27)], True, None)
    assert shown == "1 first\n2     second line\n3 third\n  ^^^^^\n4 fourth"


def test_far_lines_are_left_out() -> None:
    shown = decorate(TEXT, [Mark(22, 27)], False, 0)
    assert shown == "(... 2 lines skipped ...)\nthird\n^^^^^\nfourth"


def test_a_single_far_line_is_shown() -> None:
    lines = [f"a{i}" for i in range(10)]
    text = "\n".join(lines)

    def shown(*marked: int) -> list[str]:
        return decorate(text, [Mark(3 * i, 3 * i + 2) for i in marked], False, 2).split("\n")

    assert shown(3) == [*lines[:4], "^^", *lines[4:6], "(... 4 lines skipped ...)"]
    assert shown(1, 7) == ["a0", "a1", "^^", *lines[2:8], "^^", "a8", "a9"]
    assert shown(4)[:2] == ["(... 2 lines skipped ...)", "a2"]


def test_the_words_for_skipped_lines_start_the_line() -> None:
    text = "\n".join("abcdefghij")
    shown = decorate(text, [Mark(10, 11)], True, 0).split("\n")
    assert shown == ["(... 5 lines skipped ...)", " 6 f", "   ^", "(... 4 lines skipped ...)"]


def test_an_empty_line_belongs_to_the_one_above_it() -> None:
    text = "def f():\n    a\n\ndef g():\n    b"
    shown = decorate(text, [Mark(13, 14)], True, None, [14]).split("\n")
    assert shown == ["1 def f():", "2     a", "", "      ^", "3 def g():", "4     b"]
    assert decorate(text, [Mark(0, 8)], False, 0, [14]).endswith("\n(... 3 lines skipped ...)")
