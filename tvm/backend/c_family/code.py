"""Text of an expression that knows how tightly it binds."""

from __future__ import annotations

from typing import Final

# How tightly the outermost operator of a text binds; parentheses go where a reader or a compiler's
# warning wants them, which is oftener than the grammar does.
ATOM, UNARY, MUL, ADD, COMPARE, AND, OR, BITS, CHOICE = range(9)

# Compilers limit how deeply brackets nest (clang: 256); a longer text becomes a variable.
LONGEST: Final = 800


class Code(str):
    """An expression as text; `level` is its outermost operator's."""

    __slots__ = ("level",)
    level: int

    def __new__(cls, text: str, level: int = ATOM) -> Code:  # noqa: PYI034  (`Self` is not final)
        made = super().__new__(cls, text)
        made.level = level
        return made

    def at(self, most: int) -> str:
        """The text, in parentheses if it binds less tightly than `most`."""
        return str(self) if self.level <= most else f"({self})"


def code(text: str) -> Code:
    """A text as an expression: one without a level of its own is whole by itself."""
    return text if isinstance(text, Code) else Code(text)
