"""Where a program came from, and how mistakes in it are reported."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
from typing import Any

from tvm.error import DiagnosticError, ScriptError
from tvm.ir import diagnostics
from tvm.ir.module import IRModule
from tvm.ir.span import SourceName, Span

from .long_lines import parse_source

# Reading goes on after a mistake, to report several; this many are enough.
MAX_ERRORS = 20


class Source:
    """A program's text with its location: file, first line, indentation."""

    source_name: str
    start_line: int
    start_column: int
    source: str
    full_source: str

    def __init__(self, program: str | ast.AST | Any) -> None:
        self.start_line, self.start_column = 1, 0
        if isinstance(program, str):
            self.source_name = "<str>"
            self.source = self.full_source = program
        elif isinstance(program, ast.AST):
            self.source_name = "<ast>"
            self.source = self.full_source = ast.unparse(program)
        else:
            self.source_name = inspect.getsourcefile(program) or "<unknown>"
            lines, self.start_line = getsourcelines(program)
            self.start_column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
            self.source = textwrap.dedent("".join(lines))
            self.full_source = "".join(findsource(program)[0])

    def as_ast(self) -> ast.Module:
        """The syntax tree; a DiagnosticError with the location if the text is no Python."""
        try:
            return parse_source(self.source, self.source_name)
        except SyntaxError as err:
            raise syntax_diagnostic(self, err) from None

    def line(self, number: int) -> str:
        """A line of the program, counted from 1 at its own start."""
        lines = self.source.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def span(self, node: Any) -> Span | None:
        """The span of a piece of syntax in the file; None for syntax without one."""
        line = getattr(node, "lineno", None)
        if line is None:
            return None
        last, column = node.end_lineno or line, node.col_offset
        end = node.end_col_offset or column
        shift, indent = self.start_line - 1, self.start_column + 1
        return Span(SourceName(self.source_name), line + shift, last + shift, column + indent,
                    end + indent)  # fmt: skip


def syntax_diagnostic(source: Source, err: SyntaxError) -> DiagnosticError:
    """A syntax error as a diagnostic with line, column and caret."""
    line, column = err.lineno or 1, max(err.offset or 1, 1)
    found = Diagnostics(source)
    node = ast.Pass(lineno=line, col_offset=column - 1, end_lineno=line, end_col_offset=column)
    found.note(node, f"invalid syntax: {err.msg}")
    return found.failure()


def findsource(obj: Any) -> tuple[list[str], int]:
    """All lines of the file that defines a function or class, and where it starts (from 0)."""
    if not inspect.isclass(obj):
        return inspect.findsource(obj)
    file = inspect.getsourcefile(obj) or ""
    module = sys.modules.get(obj.__module__)
    lines = linecache.getlines(file, vars(module) if module is not None else None)
    if not lines:
        raise OSError("could not get source code")
    start = _class_start(obj, lines)
    if start is None:
        return inspect.findsource(obj)
    return lines, start


def _class_start(cls: type, lines: list[str]) -> int | None:
    """The line of the class, told by the first of its functions: names need not be unique."""
    known = cls.__dict__.get("__firstlineno__")  # Python 3.13
    if known is not None:
        return int(known) - 1
    codes = [code for v in vars(cls).values() if (code := _code_of(v)) is not None]
    if not codes:
        return None
    first = min(code.co_firstlineno for code in codes) - 1
    for at in range(min(first, len(lines) - 1), -1, -1):
        text = lines[at].lstrip()
        if text.startswith(f"class {cls.__name__}") and _indent(lines[at]) < _indent(lines[first]):
            return at
    return None


def _code_of(value: Any) -> Any:
    return getattr(getattr(value, "__func__", value), "__code__", None)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def getsourcelines(obj: Any) -> tuple[list[str], int]:
    """The lines of a function or class with its decorators, and the number of the first."""
    try:
        lines, start = findsource(obj)
        while start > 0 and lines[start - 1].lstrip().startswith("@"):
            start -= 1
        block = inspect.getblock(lines[start:])
        # Python 3.13 takes the program of `python -c` for the text of whatever `exec` has made
        name = getattr(_code_of(obj), "co_name", obj.__name__)
        if not any(name in line for line in block):
            raise OSError
    except OSError:
        raise ScriptError(
            f"no source text is known for {obj!r}; TVMScript reads programs from their text: "
            "put it into a file, or use tvm.script.from_source(text)"
        ) from None
    return block, start + 1


class Diagnostics:
    """The mistakes found in one program."""

    source: Source
    ctx: diagnostics.DiagnosticContext

    def __init__(self, source: Source) -> None:
        self.source = source
        self.ctx = diagnostics.DiagnosticContext(IRModule(), diagnostics.get_renderer())
        self._texts: list[str] = []

    @property
    def found(self) -> bool:
        """True when there is something to report."""
        return bool(self._texts)

    @property
    def count(self) -> int:
        """How many mistakes were noted."""
        return len(self._texts)

    @property
    def full(self) -> bool:
        """True when enough mistakes were found to stop."""
        return len(self._texts) >= MAX_ERRORS

    def note(self, node: Any, message: str) -> None:
        """Remember a mistake at a piece of syntax."""
        span = self.source.span(node) or Span(self.source.source_name, self.source.start_line,
                                              self.source.start_line, 1, 1)  # fmt: skip
        text = self._render(node, span, message)
        if text in self._texts:
            return
        self._texts.append(text)
        level = diagnostics.DiagnosticLevel.ERROR
        self.ctx.emit(diagnostics.Diagnostic(level, span, message))

    def _render(self, node: Any, span: Span, message: str) -> str:
        number = getattr(node, "lineno", 1)
        line = self.source.line(number)
        column = getattr(node, "col_offset", 0)
        same_line = getattr(node, "end_lineno", number) == number
        end = getattr(node, "end_col_offset", None) if same_line else len(line)
        width = max((end or column + 1) - column, 1)
        indent = " " * (len(line.encode()[:column].decode(errors="ignore")))
        head = f"error: {message}\n --> {span.source_name.name}:{span.line}:{span.column}"
        gutter = str(span.line)
        blank = " " * len(gutter)
        return f"{head}\n {blank} |\n {gutter} |  {line}\n {blank} |  {indent}{'^' * width}"

    def error(self, node: Any, message: str) -> None:
        """Report a mistake and end the reading."""
        self.note(node, message)
        raise self.failure()

    def failure(self) -> DiagnosticError:
        """All mistakes as one error."""
        if not self.ctx.renderer.is_default:
            self.ctx.renderer.render(self.ctx)
        return DiagnosticError("\n".join(self._texts))
