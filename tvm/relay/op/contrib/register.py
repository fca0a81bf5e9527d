"""The patterns that an outside compiler takes as wholes, for `relay.transform.MergeComposite`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Table = Callable[[], Any]
_TABLES: Final[dict[str, Table]] = {}


def register_pattern_table(compiler: str, table: Table | None = None) -> Any:
    """Set the function that gives a compiler's patterns, (name, pattern) or (name, pattern, check).

    Without `table` this is a decorator of the function. A later one takes the place of the first.
    """

    def register(func: Table) -> Table:
        _TABLES[compiler] = func
        return func

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Any:
    """The patterns of a compiler; None if it has none."""
    found = _TABLES.get(compiler)
    return None if found is None else found()
