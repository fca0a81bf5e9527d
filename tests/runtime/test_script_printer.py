"""The door to the printer's options."""

from __future__ import annotations

import pytest

import tvm
from tvm.runtime import script_printer

pytestmark = pytest.mark.pure


def test_the_names_are_those_of_the_printer() -> None:
    assert issubclass(tvm.ir.Node, script_printer.Scriptable)
    assert script_printer.PrinterConfig(indent_spaces=2).indent_spaces == 2
