"""The patterns that an outside compiler takes as wholes, for `relay.transform.MergeComposite`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

Table = Callable[[], Any]
F = TypeVar("F", bound=Table)
_OURS: Final = (
    "arm_compute_lib", "bnns", "clml", "cmsis-nn", "cublas", "cudnn", "cutlass", "dnnl", "tensorrt",
)  # modules of this package that set a table
_TABLES: Final[dict[str, Table]] = {}


@overload
def register_pattern_table(compiler: str, table: None = None) -> Callable[[F], F]: ...
@overload
def register_pattern_table(compiler: str, table: F) -> F: ...
def register_pattern_table(compiler: str, table: Any = None) -> Any:
    """Set the function that gives a compiler's patterns, (name, pattern) or (name, pattern, check).

    Without `table` this is a decorator of the function. A later one replaces the first.
    """

    def register(func: Table) -> Table:
        _TABLES[compiler] = func
        return func

    return register if table is None else register(table)


def load_partner(compiler: str) -> None:
    """Let a compiler that this package knows set its table and its operators."""
    if compiler in _OURS:
        importlib.import_module(f"{__package__}.{compiler.replace('-', '')}")


def get_pattern_table(compiler: str) -> Any:
    """The patterns of a compiler; None if it has none."""
    load_partner(compiler)
    found = _TABLES.get(compiler)
    return None if found is None else found()
