"""Where a piece of the program came from: a line of script, an ONNX node, a torch line."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar, Final, final
from weakref import WeakValueDictionary

from .node import Field, Node, all_of_type, fields, of_type, register_nodes


@final
class SourceName(Node):
    """The name of a source: a file, or a model with its node (`digits.onnx:stem/conv`).

    There is one node for a name: two of the same name are the same.
    """

    __slots__ = ("__weakref__", "name")
    _KNOWN: ClassVar[WeakValueDictionary[str, SourceName]] = WeakValueDictionary()
    TYPE_KEY = "ir.SourceName"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name")

    def __new__(cls, name: str) -> SourceName:
        of_type(name, str, "SourceName: name")
        known = cls._KNOWN.get(name)
        return known if known is not None else cls._KNOWN.setdefault(name, super().__new__(cls))

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __reduce__(self) -> tuple[type[SourceName], tuple[str]]:
        return SourceName, (self.name,)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.__repr__()


class Span(Node):
    """Lines and columns in a source; lines and columns count from 1."""

    __slots__ = ("column", "end_column", "end_line", "line", "source_name")
    TYPE_KEY = "ir.Span"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "source_name", "line", "column", "end_line", "end_column"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("source_name", "line", "end_line", "column", "end_column")

    def __init__(
        self, source_name: SourceName | str, line: int, end_line: int, column: int, end_column: int
    ) -> None:
        self.source_name: Final = (
            SourceName(source_name)
            if isinstance(source_name, str)
            else of_type(source_name, SourceName, "Span: source_name")
        )
        self.line: Final = line
        self.end_line: Final = end_line
        self.column: Final = column
        self.end_column: Final = end_column

    def __repr__(self) -> str:
        return f"{self.source_name.name}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return self.__repr__()


@final
class SequentialSpan(Span):
    """Several locations at once: what a fused piece of program came from, in order."""

    __slots__ = ("spans",)
    TYPE_KEY = "ir.SequentialSpan"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("spans")
    CTOR: ClassVar[tuple[str, ...]] = ("spans",)

    def __init__(self, spans: tuple[Span, ...] | list[Span]) -> None:
        flat = tuple(flatten_spans(all_of_type(spans, Span, "SequentialSpan: spans")))
        if not flat or not all(isinstance(span, Span) for span in flat):
            raise TypeError(f"SequentialSpan: a list of at least one Span, found {spans!r}")
        first, last = flat[0], flat[-1]
        super().__init__(
            first.source_name, first.line, last.end_line, first.column, last.end_column
        )
        self.spans: Final = flat

    def __repr__(self) -> str:
        return ", ".join(str(span) for span in self.spans)

    def __str__(self) -> str:
        return self.__repr__()


def flatten_spans(spans: tuple[Span, ...] | list[Span]) -> list[Span]:
    """The simple spans in `spans`, in order, each once."""
    found: list[Span] = []
    for span in spans:
        parts = span.spans if isinstance(span, SequentialSpan) else (span,)
        found.extend(part for part in parts if part not in found)
    return found


def merge_spans(*spans: Span | None) -> Span | None:
    """One span for what came from all of `spans`; None when none is known."""
    known = flatten_spans([span for span in spans if span is not None])
    if not known:
        return None
    return known[0] if len(known) == 1 else SequentialSpan(known)


class SourceMap(Node):
    """The texts that programs came from, by source."""

    __slots__ = ("source_map",)
    TYPE_KEY = "ir.SourceMap"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("source_map")

    def __init__(self, source_map: Mapping[SourceName, str] | None = None) -> None:
        self.source_map: dict[SourceName, str] = dict(source_map or {})

    def add(self, name: str, content: str) -> SourceName:
        """Note a source's text; its name for the spans of nodes."""
        made = SourceName(name)
        self.source_map[made] = content
        return made


class _Ambient(threading.local):
    span: Span | None = None


_AMBIENT: Final = _Ambient()


def ambient_span() -> Span | None:
    """The span that new calls take when they are given none."""
    return _AMBIENT.span


@contextmanager
def span_scope(span: Span | None) -> Iterator[None]:
    """Within the scope, calls made without a span take this one: what a model's node became."""
    outer = _AMBIENT.span
    _AMBIENT.span = outer if span is None else span
    try:
        yield
    finally:
        _AMBIENT.span = outer


def caller_place() -> str | None:
    """`file:line` of the code outside of this package that is running; None if all is inside."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


_PACKAGE: Final = __name__.partition(".")[0]

register_nodes(SourceMap, SourceName, Span, SequentialSpan)
