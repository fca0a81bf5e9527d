"""Files of lines that several processes append to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.meta_schedule.database.line_file import LineFile

pytestmark = pytest.mark.pure


def test_each_line_is_read_once(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "lines")
    one, two = LineFile(path, allow_missing=True), LineFile(path, allow_missing=True)
    with one.locked():
        one.append("a")
        one.append("b")
    assert one.new_lines() == []
    assert two.new_lines() == [(1, "a"), (2, "b")]
    with two.locked():
        two.append("c")
    assert one.new_lines() == [(3, "c")]
    assert two.new_lines() == []


def test_half_a_line_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("a\n\nb\nhal")
    lines = LineFile(str(path), allow_missing=False)
    assert lines.new_lines() == [(1, "a"), (3, "b")]
    lines.append("c")
    assert path.read_text() == "a\n\nb\nc\n"
