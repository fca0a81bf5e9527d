"""Debug locations: the source span of a statement on each instruction made for it.

    B[i] = A[i]   (model.py:12)      ->      store float %.4, ptr %.6, align 4, !dbg !9

Only line tables are made; they are left out unless asked for (`tir.enable_debug`), as they make
LLVM slower.
"""

from __future__ import annotations

from tvm.ir.span import SequentialSpan, Span

from .module_text import ModuleText
from .types import bytes_literal


class DebugLines:
    """Makes the metadata of one module; equal places share a node."""

    def __init__(self, module: ModuleText) -> None:
        self._module = module
        self._unit_file = self._file("tvm")
        self._unit = module.metadata(
            "distinct !DICompileUnit(language: DW_LANG_C, file: " + self._unit_file + ", "
            'producer: "tvm", isOptimized: true, runtimeVersion: 0, '
            "emissionKind: LineTablesOnly)"
        )
        version = module.metadata('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = module.metadata('!{i32 7, !"Dwarf Version", i32 4}')
        module.named_metadata["llvm.dbg.cu"] = self._unit
        module.named_metadata["llvm.module.flags"] = f"{version}, {dwarf}"

    def _file(self, name: str) -> str:
        text = bytes_literal(name.encode())
        return self._module.shared_metadata(f'!DIFile(filename: "{text}", directory: "")')

    def function(self, name: str, span: Span | None) -> str:
        """The node of a function."""
        place = _first(span)
        file = self._unit_file if place is None else self._file(place.source_name.name)
        line = 0 if place is None else place.line
        kinds = self._module.shared_metadata("!{}")
        signature = self._module.shared_metadata(f"!DISubroutineType(types: {kinds})")
        text = bytes_literal(name.encode())
        return self._module.metadata(
            f'distinct !DISubprogram(name: "{text}", scope: {file}, file: {file}, line: {line}, '
            f"type: {signature}, spFlags: DISPFlagDefinition, unit: {self._unit})"
        )

    def location(self, function: str, span: Span | None) -> str:
        """The node of a place within a function."""
        place = _first(span)
        if place is None:
            return self._module.shared_metadata(f"!DILocation(line: 0, scope: {function})")
        file = self._file(place.source_name.name)
        scope = self._module.shared_metadata(
            f"!DILexicalBlockFile(scope: {function}, file: {file}, discriminator: 0)"
        )
        column = min(max(place.column, 0), 65535)  # LLVM keeps 16 bits
        return self._module.shared_metadata(
            f"!DILocation(line: {max(place.line, 0)}, column: {column}, scope: {scope})"
        )


def _first(span: Span | None) -> Span | None:
    """A span that covers several places stands for the first of them."""
    while isinstance(span, SequentialSpan):
        span = span.spans[0] if span.spans else None
    return span
