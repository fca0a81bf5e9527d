"""Programs in documents of three forms: fenced Markdown, reStructuredText with outputs, and prose.

A block is a program, the text that the document shows it to print, and where it begins.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final, NamedTuple

_FENCED: Final = re.compile(r"^[ \t]*```python\n(?P<code>.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_SHOWN: Final = re.compile(r"(?P<statement>print\(.*\))\s+# [^\x00-\x7f]*: (?P<text>.+)$")
_DIRECTIVE: Final = re.compile(r"^(?P<indent> *)\.\. code-block:: (?P<kind>\w+)$")
_DECORATED: Final = re.compile(r"^@tvm\.\S+\(opt_level=\d+\) (?:class|def) .*$", re.MULTILINE)


class Block(NamedTuple):
    """One program of a document."""

    line: int
    code: str
    output: str | None  # all that it prints, where the document shows it
    lines: tuple[str, ...] = ()  # or lines that are among it


def read(path: Path) -> list[Block]:
    """The programs of a document, in order."""
    text = path.read_text(encoding="utf-8")
    if ".. code-block::" in text:
        return _directives(text)
    if "```python" in text:
        return _fences(text)
    return _in_prose(text)


def _fences(text: str) -> list[Block]:
    found = []
    for match in _FENCED.finditer(text):
        code = textwrap.dedent(match["code"])
        shown = tuple(m["text"] for line in code.splitlines() if (m := _SHOWN.search(line)))
        found.append(Block(text.count("\n", 0, match.start("code")) + 1, code, None, shown))
    return found


def _directives(text: str) -> list[Block]:
    lines = text.splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        match = _DIRECTIVE.match(lines[at])
        at += 1
        if match is None:
            continue
        first, inside = at, []
        while at < len(lines) and _is_inside(lines[at], len(match["indent"])):
            inside.append(lines[at])
            at += 1
        content = textwrap.dedent("\n".join(inside)).strip("\n") + "\n"
        if match["kind"] == "none":
            found[-1] = found[-1]._replace(output=content)
        else:
            found.append(Block(first + 1, content, None))
    return found


def _is_inside(line: str, indent: int) -> bool:
    deeper = len(line) - len(line.lstrip()) > indent and not _DIRECTIVE.match(line)
    return deeper or not line.strip()


def _in_prose(text: str) -> list[Block]:
    """Programs that lost their line breaks: each is on one line that begins with a decorator."""
    return [
        Block(text.count("\n", 0, match.start()) + 1, unfolded(match[0]), None)
        for match in _DECORATED.finditer(text)
    ]


# Where a line of a program that was folded into one begins again.
_BREAK: Final = re.compile(
    r" (?=# |(?:class|def|return|assert)\b|(?:updated_mod|function_pass|self\.\w+) =)"
)


def unfolded(line: str) -> str:
    """A program of one line with its line breaks and indentation."""
    rows = [row.strip() for row in _BREAK.sub("\n", line).split("\n")]
    out: list[str] = []
    depth = 0
    for row in rows:
        if row.startswith("#"):
            continue  # nobody knows any more where a comment goes on
        if row.startswith(("@", "class ")):
            depth = 0
        elif row.startswith("def ") and "self" in row:
            depth = 1
        elif row.startswith("def "):
            depth = 0
        out.append("    " * depth + row)
        if row.endswith(":"):
            depth += 1
        elif row.startswith("return "):
            depth = 0
    return "\n".join(out) + "\n"
