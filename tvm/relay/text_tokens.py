"""Relay's text cut into tokens, each with its offset."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tvm.error import DiagnosticError, message
from tvm.ir.span import Span

_NUMBER = r"(?:\d+\.?\d*(?:[eE][+-]?\d+)?|inf|nan)(?:bf16|f16|f32|f64|f|i\d+|u\d+)?"
_RULES: Final[tuple[tuple[str, str], ...]] = (
    ("space", r"[ \t\r\n]+"),
    ("comment", r"//[^\n]*"),
    ("open_comment", r"/\*"),
    ("metadata", r"\#\[metadata\]"),
    ("version", r"\#\[version\s*=\s*\"(?P<semver>[^\"]*)\"\]"),
    ("string", r'"(?:[^"\\\n]|\\.)*"'),
    ("meta", r"meta\[(?P<key>[\w.]+)\]\[(?P<at>\d+)\]"),
    ("graph", r"%\d+\b(?![\w.]*[A-Za-z_/])"),
    ("local", r"%[A-Za-z_]\w*(?:(?:\.(?=[A-Za-z_])|/)\w+)*"),
    ("global", r"@[A-Za-z_]\w*(?:\.\w+)*"),
    ("number", rf"(?:{_NUMBER})(?![A-Za-z_0-9])"),
    ("name", r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"),
    ("symbol", r"->|=>|:=|==|!=|<=|>=|[-+*/<>=(){}\[\],;:.?^!]"),
)
_PATTERN = re.compile("|".join(f"(?P<{kind}>{rule})" for kind, rule in _RULES))
_COMMENT = re.compile(r"/\*|\*/")


class Token(NamedTuple):
    """A piece of text: what kind it is, what it says, and where it stands."""

    kind: str
    text: str
    at: int


class Source:
    """A text under a name; it knows its lines."""

    def __init__(self, text: str, name: str) -> None:
        self.text: Final = text
        self.name: Final = name
        self._starts = [0, *[m.end() for m in re.finditer("\n", text)]]

    def position(self, at: int) -> tuple[int, int]:
        """Line and column of an offset, counted from 1."""
        import bisect

        line = bisect.bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def span(self, first: int, end: int) -> Span:
        """The span of a piece of the text."""
        line, column = self.position(first)
        end_line, end_column = self.position(max(first, end))
        return Span(self.name, line, end_line, column, end_column)

    def error(self, at: int, asked: str, found: str, legal: str) -> DiagnosticError:
        """An error that shows the line with a mark below the column."""
        line, column = self.position(at)
        end = self.text.find("\n", at)
        shown = self.text[self._starts[line - 1] : len(self.text) if end < 0 else end]
        where = f"{self.name}:{line}:{column}\n{shown}\n{' ' * (column - 1)}^"
        return DiagnosticError(message(asked, found=found, where=where, legal=legal))


def tokens_of(source: Source) -> tuple[list[Token], str | None]:
    """The tokens, and the text of the metadata section if there is one."""
    found: list[Token] = []
    text, at = source.text, 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise source.error(
                at, "Relay text: an unknown character", repr(text[at]),
                "names, numbers, strings, %locals, @globals and the signs of the language",
            )  # fmt: skip
        kind = str(match.lastgroup)
        if kind in ("semver", "key", "at"):
            kind = "version" if kind == "semver" else "meta"
        if kind == "metadata":
            return [*found, Token("end", "the end of the text", at)], text[match.end() :]
        if kind == "open_comment":
            at = _after_comment(source, at)
            continue
        if kind not in ("space", "comment"):
            found.append(Token(kind, match.group(0), at))
        at = match.end()
    return [*found, Token("end", "the end of the text", at)], None


def _after_comment(source: Source, start: int) -> int:
    """The end of a comment; comments nest."""
    depth, at = 0, start
    for mark in _COMMENT.finditer(source.text, start):
        depth += 1 if mark.group(0) == "/*" else -1
        at = mark.end()
        if depth == 0:
            return at
    raise source.error(
        start, "Relay text: a comment without an end", "/*", "a closing */ for each /*"
    )
