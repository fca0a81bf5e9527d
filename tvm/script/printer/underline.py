"""Printed text with parts underlined, lines numbered, and far-away lines left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Mark(NamedTuple):
    """A stretch of the text, from its first character to behind its last one."""

    start: int
    stop: int


def decorate(
    text: str,
    marks: Sequence[Mark],
    line_numbers: bool,
    context_lines: int | None,
    blanks: Collection[int] = (),
) -> str:
    """Put `^^^` under the marked stretches; keep only `context_lines` lines around them.

    The line breaks at `blanks` are part of the line in front of them, with what follows it.
    """
    lines = _split(text.rstrip(), blanks)
    carets = _carets(lines, marks)
    kept = _kept(len(lines), carets, context_lines)
    width = len(str(len(lines))) if line_numbers else 0
    shown: list[str] = []
    skipped = 0
    for number, line in enumerate(lines):
        if number not in kept:
            skipped += 1
            continue
        if skipped:
            shown.append(_skipped(skipped))
            skipped = 0
        shown.append(f"{number + 1:>{width}} {line}" if width else line)
        if number in carets:
            shown.append(" " * (width + 1 if width else 0) + carets[number])
    if skipped:
        shown.append(_skipped(skipped))
    return "\n".join(shown)


def _split(text: str, blanks: Collection[int]) -> list[str]:
    lines: list[str] = []
    at = 0
    for line in text.split("\n"):
        if at - 1 in blanks:
            lines[-1] += "\n" + line
        else:
            lines.append(line)
        at += len(line) + 1
    return lines


def _skipped(count: int) -> str:
    return f"(... {count} lines skipped ...)"


def _carets(lines: Sequence[str], marks: Sequence[Mark]) -> dict[int, str]:
    """The underline of each line that has one; leading white space is not underlined."""
    carets: dict[int, str] = {}
    begin = 0
    for number, line in enumerate(lines):
        end = begin + len(line.rstrip())
        row = [" "] * len(line)
        first = begin + len(line) - len(line.lstrip())
        for mark in marks:
            for at in range(max(mark.start, first), min(mark.stop, end)):
                row[at - begin] = "^"
        if "^" in row:
            carets[number] = "".join(row).rstrip()
        begin += len(line) + 1
    return carets


def _kept(count: int, carets: dict[int, str], context_lines: int | None) -> set[int]:
    if context_lines is None or context_lines < 0 or not carets:
        return set(range(count))
    near = {
        line
        for number in carets
        for line in range(number - context_lines, number + context_lines + 1)
        if 0 <= line < count
    }
    # one line is no longer than the words that would replace it
    edges = near | {-1, count}
    return near | {line for line in range(count) if {line - 1, line + 1} <= edges}
