"""Model files that were compiled before: the same bytes, asked for alike, give the same program.

    before = CompiledBefore(path, asked, target)
    executable = before.find() or ...compile, then before.keep(executable)

An entry of the compile cache names the kept model (`tvm.relax.vm.kept`), and each file whose bytes
went into it. So an unchanged file is hashed, and neither read nor compiled.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tvm.backend.llvm import cache
from tvm.backend.llvm.setting import setting
from tvm.runtime.linker import get_cc
from tvm.support.digest import content_digest

from . import kept_library

if TYPE_CHECKING:
    from tvm.runtime.executable import Executable
    from tvm.runtime.vm_executable import VMExecutable
    from tvm.target.target import Target

    from .kept_library import KeptLibrary

_FORMAT: Final = "file 1"
_LIBRARY_FORMAT: Final = "library 1"
# The package that reads files of a suffix: another release may read them in another way.
_READERS: Final = {".onnx": "onnx", ".mlir": "jaxlib", ".stablehlo": "jaxlib", ".json": ""}
# Field 1 of an entry with the text "location", and the mark of field 2 (protobuf's encoding).
_LOCATION: Final = re.compile(rb"\n\x08location\x12")


class CompiledBefore:
    """What the cache knows of one model file, compiled as `asked` (texts) for a target."""

    def __init__(self, path: Path, asked: Sequence[str], target: Target) -> None:
        self._path = path
        self._target = target
        self._seen: dict[Path, tuple[int, int, int]] = {}
        self._key = self._entry(asked)
        self._model = self._known()

    def _known(self) -> str | None:
        """The name of the kept model that these bytes gave."""
        content = cache.load(self._key) if self._key else None
        if content is None:
            return None
        record = json.loads(content)
        for name, digest in record["beside"].items():
            if self._digest(self._path.parent / name) != digest:
                return None
        return str(record["model"])

    def find(self) -> VMExecutable | None:
        """The program that these bytes gave; None where it is not at hand."""
        if self._model is None:
            return None
        from tvm.relax.vm.kept import load_model  # numpy and LLVM: a library needs neither

        return load_model(self._model, self._target)

    def library(self, suffix: str) -> KeptLibrary | None:
        """The library with this suffix that these bytes gave; None where it is not at hand."""
        key = self._library_key(suffix)
        return kept_library.find(key) if key is not None else None

    def keep_library(
        self, path: Path, suffix: str, lines: list[str], told: dict[str, object]
    ) -> None:
        """Keep the library in a file, made of the program that was found or kept."""
        key = self._library_key(suffix)
        if key is not None and self._model is not None:
            kept_library.keep(key, path, self._model, lines, told)

    def _library_key(self, suffix: str) -> str | None:
        """The name of the library of these bytes: of whatever links it, too."""
        if self._model is None:
            return None
        return cache.key_of(
            [_LIBRARY_FORMAT, self._model, suffix, get_cc() or "", _package("tvm_ffi")]
        )

    def keep(self, made: Executable) -> None:
        """Note what the file gave.

        Nothing is noted if a file was written to since it was looked at, or the program itself was
        not kept.
        """
        from tvm.runtime.vm_executable import VMModule

        model = made.mod.kept_as if isinstance(made.mod, VMModule) else None
        if not self._key or model is None:
            return
        digests = {name: self._digest(self._path.parent / name) for name in self._beside()}
        if None in digests.values() or any(_stamp(p) != seen for p, seen in self._seen.items()):
            return
        cache.store(self._key, json.dumps({"model": model, "beside": digests}).encode())
        self._model = model

    def _beside(self) -> set[str]:
        """Files that the model takes weights from: in ONNX, entries "location" of its tensors."""
        if self._path.suffix.lower() != ".onnx":
            return set()
        with self._path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return {_string_at(content, found.end()) for found in _LOCATION.finditer(content)}

    def _entry(self, asked: Sequence[str]) -> str | None:
        reader = _READERS.get(self._path.suffix.lower())
        given = setting(self._target) if reader is not None else None
        digest = self._digest(self._path) if given is not None else None
        if given is None or digest is None or reader is None:
            return None
        return cache.key_of([_FORMAT, *given, *asked, _package(reader), digest])

    def _digest(self, path: Path) -> str | None:
        """Of a file's bytes as they are now; None where they cannot be read."""
        if not path.is_file():  # a pipe would be waited for
            return None
        try:
            self._seen[path] = _stamp(path)
            with path.open("rb") as file:
                if not os.fstat(file.fileno()).st_size:
                    return content_digest(b"")
                with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                    return content_digest(content)
        except (OSError, ValueError):
            return None


def _string_at(content: mmap, start: int) -> str:
    """A text of protobuf: its length, 7 bits a byte, the lowest first, and its bytes."""
    length = shift = 0
    while True:
        byte = content[start]
        length |= (byte & 127) << shift
        start, shift = start + 1, shift + 7
        if byte < 128:
            return content[start : start + length].decode(errors="replace")


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _package(name: str) -> str:
    """An installed package by where and since when its files lie; it is not loaded."""
    spec = find_spec(name) if name else None
    if spec is None or not spec.origin:
        return ""
    return f"{spec.origin} {_stamp(Path(spec.origin))}"
