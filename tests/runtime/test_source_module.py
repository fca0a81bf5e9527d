"""Modules of plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvm

pytestmark = pytest.mark.cpu


def test_the_text_is_kept(tmp_path: Path) -> None:
    made = tvm.get_global_func("runtime.SourceModuleCreate")("hello", "txt")
    assert (made.kind, made.inspect_source()) == ("source", "hello")
    assert not made.is_runnable()
    made.write_to_file(str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text() == "hello"
