from __future__ import annotations

import pytest

from tvm.support import html

pytestmark = pytest.mark.pure


def test_texts_are_no_markup() -> None:
    evil = "<script>alert('x')</script>"
    parts = (
        html.code(f"x = {evil!r}"), html.code("x" * 50_000 + evil), html.line(evil),
        html.folded(evil, ""), html.table([evil], [[evil]]),
    )  # fmt: skip
    assert "<script" not in html.document(*parts)


def test_programs_are_coloured() -> None:
    assert '<span class="k">def</span>' in html.code("def f(): pass")


def test_columns_may_stand_to_the_right() -> None:
    assert html.table(["a", "b"], [["1", "2"]], right=(1,)) == (
        "<table><thead><tr><th>a</th><th class=r>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td class=r>2</td></tr></tbody></table>"
    )
