"""What the source of a function calls its results: noted beside the module, not within it.

Names change nothing of what is computed, so that modules which differ in them are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.module import IRModule
from tvm.ir.span import SourceMap


def note_result_names(mod: IRModule, function: str, names: Sequence[str]) -> None:
    """Keep the names of the results of a function with the sources of the module."""
    if not isinstance(mod.source_map, SourceMap):
        mod.source_map = SourceMap()
    mod.source_map.add(_key(function), "\n".join(names))


def result_names(mod: IRModule, function: str) -> list[str]:
    """The names that were noted; empty without."""
    if not isinstance(mod.source_map, SourceMap):
        return []
    found = mod.source_map.source_map.items()
    texts = [text for source, text in found if source.name == _key(function)]
    return texts[-1].split("\n") if texts else []


def _key(function: str) -> str:
    return f"results of {function}"
