"""Modules of C that a code generator wrote, with functions of ours around its functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tvm.backend.c.codegen import emit_module
from tvm.backend.c.load import loaded
from tvm.backend.c.module import CSourceModule
from tvm.ffi import library
from tvm.ir.module import IRModule
from tvm.runtime.artefact import Artefact
from tvm.runtime.files import write_beside
from tvm.runtime.library_module import LibraryModule
from tvm.target import Target

LANGUAGES: Final = {"c": "c", "cc": "cc", "cpp": "cc", "cxx": "cc", "c++": "cc"}  # -> suffix
# What functions of ours call the generator's by: theirs have the same name as the whole function.
GENERATED: Final = "tvm_generated_"


class GeneratedModule(CSourceModule):
    """The text of a generator, and beside it the functions that unpack arguments for it."""

    def __init__(
        self, source: str, language: str, names: Sequence[str], wrappers: IRModule
    ) -> None:
        emitted = emit_module(wrappers)
        super().__init__(emitted._replace(packed=tuple(names)), Target("c"))
        self.source: Final = source
        self.suffix: Final = LANGUAGES[language]

    def _files(self) -> dict[str, bytes]:
        theirs = [f"#define {GENERATED}{n} {n}\n" for n in self.emitted.packed]
        files = {"arguments.c": "".join([*theirs, self.emitted.text]).encode()}
        if self.source:
            files[f"code.{self.suffix}"] = self.source.encode()
        return files

    def library(self) -> LibraryModule:
        with self._lock:
            if self._library is None:
                files = self._files()
                made = loaded(files, self.target, self._imports, self.compile_options)
                made.artefact = Artefact(
                    exports=self.emitted.packed, entry=self.emitted.entry, kind="c"
                )
                self._library = made
            return self._library

    @property
    def compile_options(self) -> list[str]:
        """Where the headers of tvm_ffi are, and C++'s library for C++."""
        options = [f"-I{library().libinfo.find_include_path()}"]
        return [*options, "-lstdc++"] if self.suffix == "cc" else options

    def code_files(self, folder: Path, stem: str) -> list[Path]:
        written = []
        for name, content in self._files().items():
            path = folder / f"{stem}_{name}"
            path.write_bytes(content)
            written.append(path)
        return written

    def get_write_formats(self) -> Sequence[str]:
        return (self.suffix,)

    def inspect_source(self, fmt: str = "") -> str:
        """What the generator wrote, here and in the modules that this one imports."""
        texts = [self.source, *(m.inspect_source() for m in self._imports)]
        return "\n".join(text for text in texts if text)

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        write_beside(file_name, self.inspect_source().encode())
