"""`--input-shapes "x:[1,3,224,224] mask:[1,77]"`, read and written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tvm.error import message
from tvm.exec.command import Mistake

_ONE = re.compile(r"\s*,?\s*(?P<name>[^\s,\[\]][^\[\]]*?)\s*:\s*\[(?P<dims>[^\[\]]*)\]\s*")
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


def _refuse(text: str, position: int, found: str) -> Mistake:
    where = f"{text}\n{' ' * position}^"
    return Mistake(message("--input-shapes cannot be read", found=found, where=where, legal=LEGAL))


def show_shape(shape: Sequence[int | str]) -> str:
    return f"[{', '.join(map(str, shape))}]"
