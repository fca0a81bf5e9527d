"""Debug information: functions, their parameters, and the source span of each instruction.

    B[i] = A[i]   (model.py:12)      ->      store float %.4, ptr %.6, align 4, !dbg !9

Functions and parameters are always described, which costs little. Lines are left out unless asked
for (`tir.enable_debug`), as they make LLVM slower and two equal programs different.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.span import SequentialSpan, Span
from tvm.runtime.imports import FFI_PREFIX

from .module_text import ModuleText
from .types import bytes_literal

_FLOAT_BITS: Final = {"half": 16, "float": 32, "double": 64}


class DebugLocations:
    """Makes the metadata of one module; equal locations share a node.

    `lines`: instructions have locations too, not only functions.
    """

    def __init__(self, module: ModuleText, *, lines: bool = True) -> None:
        self.lines: Final = lines
        self._module = module
        self._unit_file = self._file("tvm")
        self._unit = module.metadata(
            "distinct !DICompileUnit(language: DW_LANG_C, file: " + self._unit_file + ", "
            'producer: "tvm", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)'
        )
        flags = [module.metadata('!{i32 2, !"Debug Info Version", i32 3}')]
        if "apple" in module.machine_triple:  # its linker and debugger expect the old form
            flags.append(module.metadata('!{i32 4, !"Dwarf Version", i32 2}'))
        module.named_metadata["llvm.dbg.cu"] = self._unit
        module.named_metadata["llvm.module.flags"] = ", ".join(flags)

    def _file(self, name: str) -> str:
        text = bytes_literal(name.encode())
        return self._module.shared_metadata(f'!DIFile(filename: "{text}", directory: "")')

    def function(self, name: str, span: Span | None) -> str:
        """The node of a function."""
        located = _first(span) if self.lines else None
        file = self._unit_file if located is None else self._file(located.source_name.name)
        line = 0 if located is None else located.line
        kinds = self._module.shared_metadata("!{}")
        signature = self._module.shared_metadata(f"!DISubroutineType(types: {kinds})")
        text = bytes_literal(name.removeprefix(FFI_PREFIX).encode())
        return self._module.metadata(
            f'distinct !DISubprogram(name: "{text}", scope: {file}, file: {file}, line: {line}, '
            f"type: {signature}, spFlags: DISPFlagDefinition, unit: {self._unit})"
        )

    def location(self, function: str, span: Span | None) -> str:
        """The node of a location within a function."""
        located = _first(span) if self.lines else None
        if located is None:
            return self._module.shared_metadata(f"!DILocation(line: 0, scope: {function})")
        file = self._file(located.source_name.name)
        scope = self._module.shared_metadata(
            f"!DILexicalBlockFile(scope: {function}, file: {file}, discriminator: 0)"
        )
        column = min(max(located.column, 0), 65535)  # LLVM keeps 16 bits
        return self._module.shared_metadata(
            f"!DILocation(line: {max(located.line, 0)}, column: {column}, scope: {scope})"
        )

    def parameter(self, function: str, number: int, kind: str, operand: str) -> str:
        """The instruction that says which value a parameter has; numbers begin at one."""
        name = bytes_literal(operand.lstrip("%").encode())
        node = self._module.metadata(
            f'!DILocalVariable(name: "{name}", arg: {number}, scope: {function}, '
            f"file: {self._unit_file}, line: 0, type: {self._type(kind)})"
        )
        callee = self._module.declare("llvm.dbg.value", "void", "metadata, metadata, metadata")
        return f"call void {callee}(metadata {kind} {operand}, metadata {node}, " \
               "metadata !DIExpression())"

    @staticmethod
    def has_type(kind: str) -> bool:
        """Whether debuggers can be told a value's type: vectors' lanes have no name in C."""
        return kind == "ptr" or kind in _FLOAT_BITS or kind.startswith("i")

    def _type(self, kind: str) -> str:
        if kind in _FLOAT_BITS:
            bits, encoding = _FLOAT_BITS[kind], "float"
        elif kind == "ptr":
            bits, encoding = 64, "address"
        elif kind == "i1":
            bits, encoding = 8, "boolean"
        else:
            bits, encoding = int(kind[1:]), "signed"
        return self._module.shared_metadata(
            f'!DIBasicType(name: "{kind}", size: {bits}, encoding: DW_ATE_{encoding})'
        )


def _first(span: Span | None) -> Span | None:
    """The first location of a span of several."""
    while isinstance(span, SequentialSpan):
        span = span.spans[0] if span.spans else None
    return span
