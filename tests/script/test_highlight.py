"""Programs are shown in colours only where a terminal has them."""

from __future__ import annotations

import importlib.util

import pytest

from tvm import tir
from tvm.script.highlight import _format, cprint

pytestmark = pytest.mark.pure


def test_plain_text_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    cprint("x = 1")
    tir.Var("n", "int32").show()
    assert capsys.readouterr().out == "x = 1\nn\n"


def test_only_programs_are_shown() -> None:
    with pytest.raises(TypeError, match="a object has no script"):
        cprint(object())


def test_programs_are_formatted_where_a_formatter_is_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _format("x=[1,\n2]") == "x = [1, 2]\n"
    assert _format("x  = 1", "ruff") == "x = 1\n"
    assert _format("x = = 1") == "x = = 1"  # no program
    cprint("x=1", black_format=True)
    assert capsys.readouterr().out == "x = 1\n\n"
    with pytest.raises(ValueError, match="formatter 'tidy'; legal: black, ruff"):
        _format("x=1", "tidy")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="needs the package 'black' or 'ruff'"):
        cprint("x=1", black_format=True)
    assert capsys.readouterr().out == "x=1\n"
