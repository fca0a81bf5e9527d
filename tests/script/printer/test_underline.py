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
    assert shown == "(... 2 lines skipped ...)\nthird\n^^^^^\n(... 1 line skipped ...)"
