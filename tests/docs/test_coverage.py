"""The page of coverage says what is there now."""

from __future__ import annotations

import pytest

from tests.docs import coverage

pytestmark = pytest.mark.pure


def test_the_page_is_current() -> None:
    written = coverage.PAGE.read_text(encoding="utf-8").splitlines()
    # a newer onnx package knows more operators: that line is its own
    now = coverage.text().splitlines()
    onnx = written.index("## ONNX")
    assert written[:onnx] == now[: now.index("## ONNX")], "python -m tests.docs.coverage --write"
    rows = [line for line in now if line.startswith("| ")]
    assert [line for line in written if line.startswith("| ")] == rows


def test_what_is_missing_is_named() -> None:
    lines = list(coverage._share("words", ["a", "b", "c"], {"b"}))
    assert lines == ["words: 1 of 3.", "Not yet: `a`, `c`."]
    assert list(coverage._share("words", ["b"], {"b"})) == ["words: 1 of 1."]
