"""The page of operators says what is there now, and nothing of what it asks for is missing."""

from __future__ import annotations

import pytest

from tests.docs import operators

pytestmark = pytest.mark.pure


def test_the_page_is_current() -> None:
    assert operators.PAGE.read_text(encoding="utf-8") == operators.text(), (
        "python -m tests.docs.operators --write"
    )


@pytest.mark.parametrize("name", [n for n in operators.names() if not operators.BESIDE.match(n)])
def test_an_operator_of_tensors_is_whole(name: str) -> None:
    declared, static, symbolic, legal, *_ = operators.row(name)[1:]
    assert declared == "yes"
    assert static in ("yes", "by data")
    assert symbolic in ("yes", "by data")
    assert legal in ("yes", "call")


def test_every_public_name_of_topi_is_there_and_compared() -> None:
    assert [(m, n) for m, n, there, test in operators.topi_rows() if not (there and test)] == []
