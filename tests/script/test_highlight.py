"""Programs are shown in colours only where a terminal has them."""

from __future__ import annotations

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
