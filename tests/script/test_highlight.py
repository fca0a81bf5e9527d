"""Programs are shown in colours only where a terminal has them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tvm import tir
from tvm.script.highlight import cprint

pytestmark = pytest.mark.pure


def test_plain_text_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    cprint("x = 1")
    tir.Var("n", "int32").show()
    assert capsys.readouterr().out == "x = 1\nn\n"


def test_only_programs_are_shown() -> None:
    with pytest.raises(TypeError, match="a object has no script"):
        cprint(object())


def test_black_formats_where_it_is_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "black", None)
    with pytest.warns(UserWarning, match="needs the package 'black'"):
        cprint("x=1", black_format=True)
    assert capsys.readouterr().out == "x=1\n"
    black = SimpleNamespace(Mode=lambda: None, format_str=lambda text, mode: text.upper())
    monkeypatch.setitem(sys.modules, "black", black)
    cprint("x=1", black_format=True)
    assert capsys.readouterr().out == "X=1\n"
