"""Modules of C source: text first, and machine code when a function is asked for."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvm.error import CheckError, message
from tvm.ffi import library
from tvm.ir.module import IRModule
from tvm.runtime import linker
from tvm.runtime.artefact import SYMBOL, Artefact
from tvm.runtime.files import write_beside
from tvm.runtime.library_module import LibraryModule
from tvm.runtime.module import BINARY_SERIALIZABLE, COMPILATION_EXPORTABLE, RUNNABLE, Module
from tvm.target import Target

from .codegen import Emitted, emit_module
from .compiler import options_of
from .load import loaded
from .types import string_literal

_FORMATS = ("c", "cc", "o", "obj")


class CSourceModule(Module):
    """Functions as C; the system's compiler makes a library of them at the first call."""

    kind = "c"

    def __init__(self, emitted: Emitted, target: Target) -> None:
        super().__init__()
        self.emitted = emitted
        self.target = target
        self._library: LibraryModule | None = None
        self._lock = threading.Lock()

    def unlinked(self) -> CSourceModule:
        made = super().unlinked()
        assert isinstance(made, CSourceModule), "a copy is of the same class"
        made._library, made._lock = None, threading.Lock()
        return made

    def function_names(self) -> list[str]:
        return list(self.emitted.packed)

    def _entry_name(self) -> str | None:
        return self.emitted.entry or super()._entry_name()

    def _find(self, name: str) -> Any:
        if name not in self.emitted.packed:
            return None
        return self.library()._find(name)

    def library(self) -> LibraryModule:
        """The compiled code, in this process."""
        with self._lock:
            if self._library is None:
                self._check_externals()
                source = self.inspect_source().encode()
                self._library = loaded({"code.c": source}, self.target, self._imports)
            return self._library

    def _check_externals(self) -> None:
        """A function that nobody has would end the process when it is called."""
        process, own = ctypes.CDLL(None), library().LIB
        asked = self.emitted.externals
        missing = [n for n in asked if not (hasattr(process, n) or hasattr(own, n))]
        if missing:
            raise CheckError(
                message(
                    "link compiled code",
                    found=f"unknown external function {', '.join(missing)}",
                    legal="functions of the module itself, of the C library, or of tvm_ffi",
                )
            )

    def address(self, symbol: str) -> int:
        """Where a function lies; stays valid as long as this module."""
        found = self.library().symbol(symbol)
        if found is None:
            raise AttributeError(f"Module has no symbol '{symbol}'")
        return found

    @property
    def marked_entry(self) -> str | None:
        return self.emitted.entry

    @property
    def compile_options(self) -> list[str]:
        return options_of(self.target)

    def code_files(self, folder: Path, stem: str) -> list[Path]:
        """The source, whose description of itself is left to the exported file."""
        path = folder / f"{stem}.c"
        path.write_text(self.emitted.text)
        return [path]

    def get_property_mask(self) -> int:
        runs = linker.get_cc() is not None
        return BINARY_SERIALIZABLE | COMPILATION_EXPORTABLE | (RUNNABLE if runs else 0)

    def save_to_bytes(self) -> bytes:
        """The text and its functions, without the options that the target asks of a compiler."""
        return json.dumps([self.emitted.text, "c", self.emitted.packed, []]).encode()

    def get_write_formats(self) -> Sequence[str]:
        return _FORMATS

    def inspect_source(self, fmt: str = "") -> str:
        """The whole C file."""
        if fmt not in ("", "c", "cc"):
            raise ValueError(
                message(f"source of a c module as {fmt!r}", found="no such form", legal="c")
            )
        artefact = Artefact(exports=self.emitted.packed, entry=self.emitted.entry, kind="c")
        about = "/* What this library holds, for tvm.runtime.load_module. */"
        text = string_literal(artefact.to_json())
        return f"{self.emitted.text}\n{about}\nconst char {SYMBOL}[] = {text};\n"

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        form = fmt or Path(file_name).suffix.lstrip(".")
        if form not in _FORMATS:
            raise ValueError(
                message(
                    f"write {file_name!r}",
                    found=f"format {form!r}",
                    legal=", ".join(_FORMATS),
                )
            )
        if form in ("o", "obj"):
            self.export_library(file_name)
            return
        write_beside(file_name, self.inspect_source().encode())


def build(mod: IRModule, target: Target | str) -> CSourceModule:
    """The C module of the lowered PrimFuncs of a module."""
    chosen = Target(target)
    if chosen.kind.name != "c":
        raise CheckError(
            message(
                f"C code for target {chosen.kind.name}",
                found="another backend's target",
                legal="c",
            )
        )
    return CSourceModule(emit_module(mod), chosen)
