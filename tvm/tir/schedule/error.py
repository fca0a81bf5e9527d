"""Refusals of schedule primitives: what was asked, why it is illegal, where, and what is legal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tvm.error import ScheduleError as ScheduleError
from tvm.error import message
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.tir.stmt import Block, For

RENDER_LEVELS: Final = ("detail", "fast", "none")


class ScheduleValueError(ScheduleError, ValueError):
    """Arguments that suit no program."""


class ScheduleIndexError(ScheduleError, IndexError):
    """A key or number that names nothing."""


class Illegal(Exception):
    """Raised inside a primitive; the schedule turns it into an `error` with the program.

    `fast` is the rule, without the names of this program; `{0}`, `{1}` in it are those of `spots`,
    the statements to mark.
    """

    def __init__(
        self,
        found: str,
        *,
        legal: str | None = None,
        spots: Sequence[Node | None] = (),
        fast: str | None = None,
        error: type[ScheduleError] = ScheduleError,
    ) -> None:
        super().__init__(found)
        self.error: Final = error
        self.found: Final = found
        self.legal: Final = legal
        self.spots: Final = tuple([spot for spot in spots if spot is not None])
        self.fast: Final = fast or found


def render(error: Illegal, mod: IRModule, primitive: str, asked: str, level: str) -> str:
    """The text of the ScheduleError, with as much of the program as `level` allows."""
    if level == "none":
        return "ScheduleError: (not rendered)"
    head = f"ScheduleError: An error occurred in the schedule primitive '{primitive}'"
    if level == "fast":
        return f"{head}.\n\nError message: {re.sub(' {[0-9]}', '', error.fast)}"
    notes = {spot: f"{type(spot).TYPE_KEY}#{i}" for i, spot in enumerate(error.spots)}
    rule = error.fast
    for i, note in enumerate(notes.values()):
        rule = rule.replace(f"{{{i}}}", note)
    # without sugar each loop has a line of its own, which can be underlined
    program = mod.script(
        obj_to_underline=list(notes), obj_to_annotate=notes, syntax_sugar=False
    )
    said = message(
        f"Error message: {rule}",
        found=None if error.fast == error.found else error.found,
        where=f"in {asked}",
        legal=error.legal,
    )
    return f"{head}.\n\nThe IR with diagnostic is:\n{program}\n{said}"


def name_of(stmt: Node | None) -> str:
    """How messages call a block or a loop."""
    if isinstance(stmt, Block):
        return f"block {stmt.name_hint!r}"
    if isinstance(stmt, For):
        return f"loop {stmt.loop_var.name!r}"
    return "the removed statement"
