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


# how messages call the primitives that have a name of their own there
_NAMES: Final = {
    **{
        name: name.replace("_", "-")
        for name in (
            "annotate_buffer_access", "cache_index", "cache_read", "cache_write", "compute_at",
            "compute_inline", "decompose_padding", "decompose_reduction", "get_block",
            "get_child_blocks", "get_consumers", "get_output_blocks", "get_producers", "pad_einsum",
            "reverse_compute_at", "reverse_compute_inline", "rolling_buffer", "set_axis_separator",
            "set_scope", "storage_align",
        )
    },
    "cache_inplace": "cache-buffer",
    "unsafe_hide_buffer_access": "hide-buffer-access",
    "unsafe_set_dtype": "set-dtype",
}  # fmt: skip


class ScheduleValueError(ScheduleError, ValueError):
    """Arguments that suit no program."""


class ScheduleIndexError(ScheduleError, IndexError):
    """A key or number that names nothing."""


class Illegal(Exception):
    """Raised inside a primitive; the schedule turns it into an `error` with the program.

    `fast` is the rule, without the names of this program, and `detail` the rule as it applies to
    them; `{0}`, `{1}` in it are those of `spots`, the statements to mark.
    """

    def __init__(
        self,
        found: str,
        *,
        legal: str | None = None,
        spots: Sequence[Node | None] = (),
        fast: str | None = None,
        detail: str | None = None,
        error: type[ScheduleError] = ScheduleError,
    ) -> None:
        super().__init__(found)
        self.error: Final = error
        self.found: Final = found
        self.legal: Final = legal
        self.spots: Final = tuple([spot for spot in spots if spot is not None])
        self.fast: Final = fast or found
        self.detail: Final = detail or self.fast


def render(error: Illegal, mod: IRModule, primitive: str, asked: str, level: str) -> str:
    """The text of the ScheduleError, with as much of the program as `level` allows."""
    if level == "none":
        return "ScheduleError: (not rendered)"
    if level == "fast":
        return f"ScheduleError: {re.sub(' {[0-9]}', '', error.fast)}"
    name = _NAMES.get(primitive, primitive)
    head = f"ScheduleError: An error occurred in the schedule primitive '{name}'"
    notes = {spot: f"{type(spot).TYPE_KEY}#{i}" for i, spot in enumerate(error.spots)}
    rule = error.detail
    for i, note in enumerate(notes.values()):
        rule = rule.replace(f"{{{i}}}", note)
    # without sugar each loop has a line of its own, which can be underlined
    program = mod.script(
        obj_to_underline=list(notes), obj_to_annotate=notes, syntax_sugar=False
    )
    said = message(
        f"Error message: {rule}",
        found=None if error.detail == error.found else error.found,
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
