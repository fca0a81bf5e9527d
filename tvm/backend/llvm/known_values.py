"""Values that a block may take from blocks before it, so that nothing is computed twice.

    %.1 = mul nsw i64 %i, 7                  %.1 = mul nsw i64 %i, 7
    ...                              ->      ...
    %.9 = mul nsw i64 %i, 7
    %.10 = add nsw i64 %.9, 3                %.9 = add nsw i64 %.1, 3

Indices and masks of unrolled statements repeat each other: without this, half of a large kernel's
text is what LLVM would find to be there already. A value is at hand where each way leads through
the block that made it.
"""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = re.compile(r"label %([-\w$.]+)")
_FARTHEST: Final = 64  # blocks to look back through

# Values that follow from operands alone; arithmetic of data, which LLVM may fuse, is left to it.
_PURE: Final = frozenset(
    {
        "add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "and", "or",
        "xor", "icmp", "select", "getelementptr", "insertelement", "extractelement",
        "shufflevector", "trunc", "zext", "sext",
    }
)  # fmt: skip
_PURE_CALLS: Final = tuple(
    f"call {kind} @llvm.{name}.{kind}("
    for kind in ("i64", "i32")
    for name in ("smax", "smin", "umax", "umin")
)


class _Block:
    """A block, and the last one before it that each way to it leads through."""

    def __init__(self, before: _Block | None) -> None:
        self.before = before
        self.depth: int = 0 if before is None else before.depth + 1


class KnownValues:
    """The values of one function while its blocks are written, in the order of the program.

    All jumps to a block are written before it, but for those back to the start of a loop: these
    come from behind it, and what stands before the loop was computed before them too.
    """

    def __init__(self) -> None:
        self._here = _Block(None)
        self._ways: dict[str, list[_Block]] = {}
        self._made: dict[str, tuple[str, _Block]] = {}

    def jump(self, text: str) -> None:
        """Note an instruction that ends the block."""
        for label in _LABEL.findall(text):
            self._ways.setdefault(label, []).append(self._here)

    def begin(self, label: str) -> None:
        """A block starts; one that no jump leads to has nothing before it."""
        ways = self._ways.pop(label, [])
        before = ways[0] if ways else None
        for other in ways[1:]:
            before = _shared(before, other)
        self._here = _Block(before)

    def forget(self) -> None:
        """Blocks from here on are in no order."""
        self._made.clear()

    def find(self, text: str) -> str | None:
        """The name of the value that an instruction would compute once more."""
        found = self._made.get(text)
        if found is None:
            return None
        name, block = found
        here: _Block | None = self._here
        for _ in range(_FARTHEST):
            if here is block:
                return name
            if here is None or here.depth <= block.depth:
                return None
            here = here.before
        return None

    def add(self, text: str, name: str) -> None:
        """An instruction gives a value a name."""
        self._made[text] = name, self._here


def is_pure(text: str) -> bool:
    """Whether the result of an instruction follows from its operands alone."""
    word = text[: text.find(" ")]
    return word in _PURE or (word == "call" and text.startswith(_PURE_CALLS))


def _shared(a: _Block | None, b: _Block | None) -> _Block | None:
    """The last block that the ways to both lead through."""
    while a is not b:
        if a is None or b is None:
            return None
        if a.depth >= b.depth:
            a = a.before
        else:
            b = b.before
    return a
