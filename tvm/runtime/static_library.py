"""Object files that others compiled: functions in the convention of tvm_ffi, by their names.

Called in this process, the object is linked into a library of its own at the first call, with the
C++ runtime if it needs that; exported, it goes into the file with the code that imports it.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import library, register_global_func
from tvm.support.json_text import from_json
from tvm.support.scratch import scratch

from . import linker
from .module import BINARY_SERIALIZABLE, COMPILATION_EXPORTABLE, RUNNABLE, Module

PREFIX = b"__tvm_ffi_"


class StaticLibrary(Module):
    """The functions `func_names` of an object."""

    kind = "static_library"

    def __init__(self, path: str, func_names: Sequence[str], content: bytes | None = None) -> None:
        super().__init__()
        self._object = Path(path).read_bytes() if content is None else content
        self._names = list(func_names)
        missing = [name for name in func_names if PREFIX + name.encode() not in self._object]
        if missing:
            raise ValueError(
                message(
                    f"load_static_library {path!r}",
                    found=f"no function {', '.join(missing)}",
                    legal="functions that TVM_FFI_DLL_EXPORT_TYPED_FUNC exports",
                )
            )
        self._linked: Any = None

    def function_names(self) -> list[str]:
        return self._names

    def get_property_mask(self) -> int:
        return BINARY_SERIALIZABLE | RUNNABLE | COMPILATION_EXPORTABLE

    def save_to_bytes(self) -> bytes:
        return json.dumps([base64.b64encode(self._object).decode(), self._names]).encode()

    @property
    def compile_options(self) -> list[str]:
        """The C++ runtime, where mangled names tell that the object needs it."""
        if b"_Z" not in self._object:
            return []
        return ["-lc++"] if sys.platform == "darwin" else ["-lstdc++"]

    def code_files(self, folder: Path, stem: str) -> list[Path]:
        """The object as it is."""
        path = folder / f"{stem}.o"
        path.write_bytes(self._object)
        return [path]

    def _find(self, name: str) -> Any:
        if name not in self._names:
            return None
        if self._linked is None:
            self._linked = self._link()
        return self._linked.get_function(name)

    def _link(self) -> Any:
        ffi = Path(library().libinfo.find_libtvm_ffi())
        with scratch("tvm-archive-") as name:
            folder = Path(name)
            made = folder / "library.so"
            options = [*self.compile_options, f"-L{ffi.parent}", "-ltvm_ffi"]
            linker.create_shared(str(made), str(self.code_files(folder, "code")[0]), options)
            try:
                return library().load_module(str(made))
            except RuntimeError as err:
                raise TVMError(
                    message(
                        "load a static library",
                        found=str(err).splitlines()[-1],
                        legal="an object for this machine that needs C, C++ and tvm_ffi alone",
                    )
                ) from err


@register_global_func("ffi.Module.load_from_bytes.static_library", override=True)
def load_from_bytes(data: bytes) -> StaticLibrary:
    """The module that `save_to_bytes` wrote."""
    content, names = from_json(bytes(data))
    where = "stored as bytes"
    return StaticLibrary(where, [str(n) for n in names], base64.b64decode(content, validate=True))
