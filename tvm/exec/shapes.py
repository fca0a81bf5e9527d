"""Shapes on the command line, read and written.

    --input-shapes "x:[1,3,224,224] mask:[1,77]"    one shape for each input
    --shapes "x:1,3,320,320;1,3,640,640"            several for each
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tvm.error import message
from tvm.exec.command import Mistake

_ONE = re.compile(r"\s*,?\s*(?P<name>[^\s,\[\]][^\[\]]*?)\s*:\s*\[(?P<dims>[^\[\]]*)\]\s*")
LEGAL_SEVERAL = '"name:dim,dim,...;dim,dim,...", several inputs separated by spaces'
LEGAL = '"name:[dim,dim,...]", several separated by spaces: "x:[1,3,224,224] mask:[1,77]"'


def parse_shapes(text: str) -> dict[str, list[int]]:
    """Names and their shapes; a dimension is a number from 0 up."""
    shapes: dict[str, list[int]] = {}
    position = 0
    while position < len(text):
        match = _ONE.match(text, position)
        if match is None:
            raise _refuse(text, position, f"{text[position:]!r} is not a name and a shape")
        name = match["name"]
        if name in shapes:
            raise _refuse(text, match.start("name"), f"{name!r} is given twice")
        shapes[name] = _dims(text, match)
        position = match.end()
    return shapes


def _dims(text: str, match: re.Match[str]) -> list[int]:
    words = match["dims"].split(",") if match["dims"].strip() else []
    position = match.start("dims")
    for word in words:
        if not word.strip().isdecimal():
            found = f"dimension {word.strip()!r} of {match['name']!r} is not a number from 0 up"
            raise _refuse(text, position + len(word) - len(word.lstrip()), found)
        position += len(word) + 1
    return [int(word) for word in words]


def parse_several(text: str) -> list[dict[str, list[int]]]:
    """Sets of shapes: the first of each input, the second of each, and so on."""
    several: dict[str, list[list[int]]] = {}
    for match in re.finditer(r"\S+", text):
        name, colon, shapes = match[0].rpartition(":")
        if not colon or not name or name in several:
            found = f"{match[0]!r} is not a name and its shapes" if name not in several \
                else f"{name!r} is given twice"  # fmt: skip
            raise _refuse(text, match.start(), found, "--shapes", LEGAL_SEVERAL)
        words = [shape.split(",") if shape else [] for shape in shapes.split(";")]
        wrong = [word for shape in words for word in shape if not word.isdecimal()]
        if wrong:
            found = f"dimension {wrong[0]!r} of {name!r} is not a number from 0 up"
            raise _refuse(text, match.start(), found, "--shapes", LEGAL_SEVERAL)
        several[name] = [[int(word) for word in shape] for shape in words]
    counts = {name: len(shapes) for name, shapes in several.items()}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} for {name!r}" for name, count in counts.items())
        raise _refuse(text, 0, found, "--shapes", "as many shapes for each input")
    return [dict(zip(several, shapes)) for shapes in zip(*several.values())]


def _refuse(
    text: str, position: int, found: str, option: str = "--input-shapes", legal: str = LEGAL
) -> Mistake:
    where = f"{text}\n{' ' * position}^"
    return Mistake(message(f"{option} cannot be read", found=found, where=where, legal=legal))


def show_shape(shape: Sequence[int | str]) -> str:
    return f"[{', '.join(map(str, shape))}]"
