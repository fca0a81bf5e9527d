"""What installed packages declare for ours to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


def entry_points(group: str) -> EntryPoints:
    """The entry points of a group. Python's own reader loads its library for mail; few need it."""
    from importlib import metadata

    return metadata.entry_points(group=group)
