"""Diagnostics are collected, shown, and raised when they are errors."""

from __future__ import annotations

import pytest

import tvm
from tvm.error import DiagnosticError
from tvm.ir import Span
from tvm.ir.diagnostics import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    get_renderer,
    override_renderer,
)

pytestmark = pytest.mark.pure
SPAN = Span("file.py", 2, 2, 5, 9)


def test_errors_are_raised_after_all_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ctx = DiagnosticContext(tvm.IRModule())
    ctx.emit(Diagnostic(DiagnosticLevel.WARNING, None, "careful"))
    ctx.render()
    ctx.emit(Diagnostic(DiagnosticLevel.ERROR, SPAN, "wrong"))
    with pytest.raises(DiagnosticError, match=r"error: wrong\n --> file.py:2:5"):
        ctx.render()
    assert capsys.readouterr().out.count("warning: careful") == 2


def test_renderer_can_be_replaced() -> None:
    seen: list[int] = []
    override_renderer(lambda ctx: seen.append(len(ctx.diagnostics)))
    try:
        DiagnosticContext(tvm.IRModule()).render()
    finally:
        override_renderer(None)
    assert seen == [0]


def test_renderers_are_found_by_name() -> None:
    seen: list[int] = []
    override_renderer(lambda ctx: seen.append(1))
    try:
        assert not tvm.get_global_func("diagnostics.GetRenderer")().is_default
        tvm.get_global_func("diagnostics.DefaultRenderer")().render(
            DiagnosticContext(tvm.IRModule())
        )
        assert seen == []
    finally:
        tvm.get_global_func("diagnostics.ClearRenderer")()
    assert get_renderer().is_default
