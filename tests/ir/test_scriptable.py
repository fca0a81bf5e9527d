"""The options of printing are those of the printer's configuration, with the same defaults."""

from __future__ import annotations

import inspect

import pytest

from tvm import tir
from tvm.ir.scriptable import Scriptable
from tvm.script.printer import PrinterConfig

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("method", [Scriptable.script, Scriptable.show])
def test_options_are_those_of_the_configuration(method: object) -> None:
    options = {
        name: option.default
        for name, option in inspect.signature(method).parameters.items()  # type: ignore[arg-type]
        if name not in ("self", "style", "black_format")
    }
    wanted = inspect.signature(PrinterConfig).parameters
    assert list(options) == list(wanted)
    for name, default in options.items():
        if name != "num_context_lines":  # -1 and None both mean all lines
            assert default == wanted[name].default


def test_options_reach_the_printer(capsys: pytest.CaptureFixture[str]) -> None:
    expr = tir.Var("x", "int32") + 1
    assert expr.script(int_dtype="int64") == "x + T.int32(1)"
    assert expr.script(tir_prefix="X", int_dtype="int64") == "x + X.int32(1)"
    expr.show(int_dtype="int64", style="ansi")
    assert "int32" in capsys.readouterr().out
    with pytest.raises(TypeError, match="int_type"):
        expr.script(int_type="int64")  # type: ignore[call-arg]
