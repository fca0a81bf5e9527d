"""Modules of C or C++ source that somebody else wrote, in the packed calling convention.

    make = tvm.get_global_func("runtime.CSourceModuleCreate")
    module = make(code, "cc", ["add_one"])       # code defines __tvm_ffi_add_one
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import CheckError, message
from tvm.ffi import library, register_global_func
from tvm.runtime.artefact import Artefact
from tvm.runtime.files import write_beside
from tvm.runtime.library_module import LibraryModule
from tvm.runtime.module import BINARY_SERIALIZABLE, COMPILATION_EXPORTABLE
from tvm.support.json_text import from_json
from tvm.target import Target

from .codegen import Emitted
from .load import loaded
from .module import CSourceModule

_C: Final = ("c",)
_CPP: Final = ("cc", "cpp", "cxx")


class GivenSource(CSourceModule):
    """Source text with the names of the functions in it; the text is kept as it is."""

    def __init__(
        self, code: str, fmt: str, names: Sequence[str], constants: Sequence[str] = ()
    ) -> None:
        super().__init__(Emitted(code, tuple(names), None), Target("c"))
        self.fmt = fmt
        self.const_vars = tuple(constants)

    def _find(self, name: str) -> Any:
        if name == "get_const_vars":
            return lambda: list(self.const_vars)
        return super()._find(name)

    def library(self) -> LibraryModule:
        if self.fmt not in (*_C, *_CPP):
            raise CheckError(
                message(
                    "call of a function in source code",
                    found=f"code in format {self.fmt!r}",
                    legal=", ".join((*_C, *_CPP)),
                )
            )
        with self._lock:
            if self._library is None:
                files = {f"code.{self.fmt}": self.emitted.text.encode()}
                self._library = loaded(files, self.target, self._imports, self.compile_options)
                self._library.artefact = Artefact(exports=self.emitted.packed, kind="c")
            return self._library

    @property
    def compile_options(self) -> list[str]:
        """Headers of tvm_ffi, which such code usually includes, and C++'s library for C++."""
        options = [f"-I{library().libinfo.find_include_path()}"]
        return [*options, "-lstdc++"] if self.fmt in _CPP else [*super().compile_options, *options]

    def code_files(self, folder: Path, stem: str) -> list[Path]:
        path = folder / f"{stem}.{self.fmt}"
        path.write_text(self.emitted.text)
        return [path]

    def get_property_mask(self) -> int:
        return BINARY_SERIALIZABLE | COMPILATION_EXPORTABLE

    def get_write_formats(self) -> Sequence[str]:
        return (self.fmt,)

    def inspect_source(self, fmt: str = "") -> str:
        return self.emitted.text

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        write_beside(file_name, self.emitted.text.encode())

    def save_to_bytes(self) -> bytes:
        parts = [self.emitted.text, self.fmt, self.emitted.packed, self.const_vars]
        return json.dumps(parts).encode()


@register_global_func("runtime.CSourceModuleCreate", override=True)
def create(
    code: str, fmt: str, func_names: Sequence[str], const_vars: Sequence[str] | None = None
) -> GivenSource:
    """A module of source code that defines functions in the packed calling convention."""
    return GivenSource(
        str(code), str(fmt), [str(n) for n in func_names], [str(c) for c in const_vars or ()]
    )


@register_global_func("ffi.Module.load_from_bytes.c", override=True)
def load_from_bytes(data: bytes) -> GivenSource:
    """The module that `save_to_bytes` wrote."""
    code, fmt, names, constants = from_json(bytes(data))
    return GivenSource(str(code), str(fmt), names, constants)
