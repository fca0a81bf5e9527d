"""Tables of text: columns as wide as their widest cell, numbers with four digits."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | float


def format_table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """The table, with a line below its head and another below its last row."""
    text = [list(head), *([_show(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in text) for i in range(len(head))]
    lines = [" " + " | ".join(c.rjust(w) for c, w in zip(row, widths)) + " " for row in text]
    rule = "-" * len(lines[0])
    return "\n".join([lines[0], rule, *lines[1:], rule, ""])


def _show(cell: Cell) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)
