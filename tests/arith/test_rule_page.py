"""The page of rules is the one that the tables give."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.arith.rule_page import rule_page

pytestmark = pytest.mark.pure
PAGE = Path(__file__).resolve().parents[2] / "docs" / "simplify-rules.md"


def test_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == rule_page(), (
        "run: python -m tvm.arith.rule_page > docs/simplify-rules.md"
    )


def test_what_it_shows() -> None:
    page = rule_page()
    assert "    (x * c1) // c2   ->   x * (c1 // c2)   when (c2 != 0) & ((c1 % c2) == 0)\n" in page
    assert "    x < x   ->   False\n" in page
    assert "min((t + y), t)   ->   min(y, 0) + t   (in proofs)\n" in page
    assert "## Add of vectors" in page
