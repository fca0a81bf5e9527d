"""Lines of a function: blocks, names, lines that stand apart."""

from __future__ import annotations

import pytest

from tvm.backend.c_family.text import Lines

pytestmark = pytest.mark.pure


class _Sample(Lines):
    def taken(self, name: str) -> bool:
        return name == "float"


def test_blocks_are_indented() -> None:
    out = _Sample()
    out.open("if (a) {")
    out.line("b;")
    out.turn("} else {")
    out.line("c;")
    out.close()
    assert out.lines == ["  if (a) {", "    b;", "  } else {", "    c;", "  }"]


def test_names_are_new() -> None:
    out = _Sample()
    assert [out.fresh(n) for n in ("float", "x", "x", "")] == ["float_", "x", "x_1", "v"]


def test_lines_apart() -> None:
    out = _Sample()
    with out.apart() as lines:
        out.line("t;")
    assert (out.lines, lines) == ([], ["  t;"])
