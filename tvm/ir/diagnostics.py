"""Diagnostics: messages with a level and a location, collected and shown together."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn

from tvm.error import DiagnosticError
from tvm.ffi.object import Object
from tvm.ffi.registry import register_global_func

from .span import Span


class DiagnosticLevel(enum.IntEnum):
    """How bad it is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic(Object):
    """One message about one location."""

    __slots__ = ("level", "message", "span")

    def __init__(self, level: int, span: Span | None, message: str) -> None:
        self.level: Final = DiagnosticLevel(level)
        self.span: Final = span
        self.message: Final = message

    def __str__(self) -> str:
        where = "" if self.span is None else f"\n --> {self.span}"
        return f"{self.level.name.lower()}: {self.message}{where}"


class DiagnosticRenderer(Object):
    """Shows what a context has collected."""

    def __init__(self, render_func: Callable[[DiagnosticContext], None] | None = None) -> None:
        self._render = render_func or _print_all

    def render(self, ctx: DiagnosticContext) -> None:
        """Show all diagnostics of the context."""
        self._render(ctx)

    @property
    def is_default(self) -> bool:
        """True for the one that prints what the error then says again."""
        return self._render is _print_all


def _print_all(ctx: DiagnosticContext) -> None:
    for diagnostic in ctx.diagnostics:
        print(diagnostic)


class _Default:
    renderer: ClassVar[DiagnosticRenderer] = DiagnosticRenderer()


@register_global_func("diagnostics.DefaultRenderer")
def default_renderer() -> DiagnosticRenderer:
    """One that prints."""
    return DiagnosticRenderer()


@register_global_func("diagnostics.GetRenderer")
def get_renderer() -> DiagnosticRenderer:
    """The renderer in force."""
    return _Default.renderer


def override_renderer(render_func: Callable[[DiagnosticContext], None] | None) -> None:
    """Show diagnostics by another function; None puts the default back."""
    _Default.renderer = DiagnosticRenderer(render_func)


@register_global_func("diagnostics.ClearRenderer")
def _clear_renderer() -> None:
    override_renderer(None)


class DiagnosticContext(Object):
    """Collects diagnostics about a module."""

    def __init__(self, module: Any, renderer: DiagnosticRenderer | None = None) -> None:
        self.module = module
        self.renderer = renderer or get_renderer()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add one."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show all, and raise DiagnosticError if one is an error or worse."""
        self.renderer.render(self)
        if any(d.level <= DiagnosticLevel.ERROR for d in self.diagnostics):
            self._fail()

    def _fail(self) -> NoReturn:
        raise DiagnosticError("\n".join(str(d) for d in self.diagnostics))


def show_error(module: Any, error: DiagnosticError) -> None:
    """Let a renderer that was set see an error as a diagnostic; the default one prints nothing.

    Whoever raised the error goes on to raise it: it says all by itself.
    """
    renderer = get_renderer()
    if not renderer.is_default:
        context = DiagnosticContext(module, renderer)
        context.emit(Diagnostic(DiagnosticLevel.ERROR, None, str(error)))
        renderer.render(context)
