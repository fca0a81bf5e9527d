"""C files, compiled and loaded into this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tvm.runtime.artefact import Artefact
from tvm.runtime.library_module import LibraryModule
from tvm.runtime.module import Module
from tvm.support.scratch import scratch
from tvm.target import Target

from .compiler import compile_shared


def loaded(
    files: Mapping[str, bytes],
    target: Target | None = None,
    imports: list[Module] | None = None,
    options: Sequence[str] = (),
) -> LibraryModule:
    """The library of C files by name; it stays in memory when its file is gone."""
    with scratch("tvm-c-") as folder:
        sources = []
        for name, content in files.items():
            path = Path(folder, name)
            path.write_bytes(content)
            sources.append(str(path))
        made = Path(folder, "code.so")
        compile_shared(sources, str(made), target, options=options)
        return LibraryModule(str(made), imports)


def load_source(path: str) -> Module:
    """The module of a C file that a module of target `c` wrote."""
    return loaded({Path(path).name: Path(path).read_bytes()})


def load_code(
    files: Mapping[str, bytes], artefact: Artefact, data: dict[str, int], owner: object
) -> Module:
    """The module of the C files of an archive; they hold their constants themselves."""
    library = loaded(files)
    library.artefact = artefact
    return library
