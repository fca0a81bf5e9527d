"""Diagnostics: messages with places, collected in a context and shown by a renderer."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final

from tvm.ffi.object import Object

from .module import IRModule
from .span import Span


class DiagnosticLevel(enum.IntEnum):
    """How grave a message is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic(Object):
    """One message about a place."""

    def __init__(self, level: DiagnosticLevel, span: Span | None, message: str) -> None:
        self.level: Final = level
        self.span: Final = span
        self.message: Final = message


RenderFunc = Callable[["DiagnosticContext"], Any]


class DiagnosticRenderer(Object):
    """Shows the messages of a context."""

    def __init__(self, render_func: RenderFunc) -> None:
        self.render_func: Final = render_func

    def render(self, ctx: DiagnosticContext) -> None:
        """Show the messages."""
        self.render_func(ctx)


class DiagnosticContext(Object):
    """Messages collected about one module."""

    def __init__(self, module: IRModule, renderer: DiagnosticRenderer) -> None:
        self.module: Final = module
        self.renderer: Final = renderer
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Collect a message."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show what was collected."""
        self.renderer.render(self)


def _silent(ctx: DiagnosticContext) -> None:
    """The default: the error that is raised carries all messages already."""


class _Override:
    render_func: RenderFunc | None = None


_OVERRIDE: Final = _Override()


def get_renderer() -> DiagnosticRenderer:
    """The renderer that new contexts use."""
    return DiagnosticRenderer(_OVERRIDE.render_func or _silent)


def override_renderer(render_func: RenderFunc | None) -> None:
    """Show diagnostics with `render_func` from now on; None goes back to the default."""
    _OVERRIDE.render_func = render_func
