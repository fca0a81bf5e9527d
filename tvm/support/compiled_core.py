"""Loads the compiled core in place of its sources, if there is one and it was made from them.

`make core` (docs/developing.md) builds the core into `tvm/_core/<kind of Python>`: one library, and
a manifest that names its modules, the sources that it was made from, and the digest of these.
Library and sources are read and compared when the first module of the core is imported; if one of
them has changed since, or it is one for another Python, all of the core is plain Python.
`TVM_CORE=0` asks for plain Python, so that a debugger can step through it; `TVM_CORE=1` refuses to
go on without the compiled core, and a folder names another one to take it from.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

PACKAGE: Final = Path(__file__).parents[1]
# Such as `cpython-311-x86_64-linux-gnu`: machine code of one kind is of no use to another.
KIND: Final = EXTENSION_SUFFIXES[0].strip(".").rpartition(".")[0] or sys.implementation.cache_tag
FOLDER: Final = PACKAGE / "_core" / str(KIND)
LIBRARY: Final = "tvm_core__mypyc"  # mypyc's name for a group `tvm_core`
STARTER: Final = "tvm_core_start"
MANIFEST: Final = "manifest.json"
VERSION: Final = "{}.{}".format(*sys.version_info)  # of what C code holds for


def digest(sources: Sequence[str], home: Path = PACKAGE.parent) -> str:
    """One digest of files and their names, relative to `home`."""
    from hashlib import sha256

    found = sha256()
    for name in sources:
        content = (home / name).read_bytes()
        found.update(f"{name} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


class CoreFinder:
    """Finds the modules of the compiled core; none, once it turns out to be unfit.

    Whatever is wrong with it, the sources take its place: `refused` tells what it was.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder: Final = folder
        self.modules: Final[dict[str, str]] = manifest["modules"]
        self.manifest: Final = manifest
        self._refused: str | None = None
        self._library: ModuleType | None = None
        self._start: Any = None

    @property
    def refused(self) -> str:
        """Why the core is not used, or nothing if it is; found out once in a process."""
        if self._refused is None:
            self._refused = self._unfit()
        return self._refused

    def _unfit(self) -> str:
        if self.manifest["python"] != VERSION:
            return f"the core is one for Python {self.manifest['python']}"
        library = self.folder / f"{LIBRARY}{EXTENSION_SUFFIXES[0]}"
        try:
            if digest([library.name], self.folder) != self.manifest["library"]:
                return "the core is not as it was when it was compiled"
        except OSError as error:
            return f"the core cannot be read ({error.strerror})"
        try:
            if digest(self.manifest["sources"]) != self.manifest["digest"]:
                return "sources have changed since it was compiled"
        except OSError:
            return "sources that it was compiled from are gone"
        try:
            self._start = self._open(STARTER).start
            self._library = self._open(LIBRARY)
        except ImportError as error:  # of another system, or a library that it needs is not here
            return f"the core does not load ({error})"
        lacking = [name for name in self.modules if not hasattr(self._library, _init(name))]
        return f"the core is without {lacking[0]}" if lacking else ""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """How to load `name`, if it is part of the core."""
        source = self.modules.get(name)
        if source is None or self.refused:
            return None
        loader: Any = _CoreLoader(self)
        return spec_from_file_location(name, PACKAGE.parent / source, loader=loader)

    def start(self, name: str) -> ModuleType:
        """Make a module and run its body."""
        assert self._library is not None, "found fit before"
        # by its name mypyc's code finds the library again, before any module of it starts
        sys.modules[LIBRARY] = self._library
        module: ModuleType = self._start(getattr(self._library, _init(name)))
        return module

    def _open(self, name: str) -> ModuleType:
        path = str(self.folder / f"{LIBRARY}{EXTENSION_SUFFIXES[0]}")
        spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
        assert spec is not None, "a loader is given"
        return module_from_spec(spec)


def _init(name: str) -> str:
    """What mypyc calls the initialiser of a module."""
    return f"init_{name.replace('.', '___')}"


class _CoreLoader:
    """Loads one module; tools that ask for its source text get it."""

    def __init__(self, finder: CoreFinder) -> None:
        self._finder: Final = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = self._finder.start(spec.name)
        module.__file__ = spec.origin
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do: a compiled module runs as it is made."""

    def get_source(self, name: str) -> str:
        return (PACKAGE.parent / self._finder.modules[name]).read_text("utf-8")

    def get_code(self, name: str) -> CodeType | None:
        return None

    def is_package(self, name: str) -> bool:
        return False


def _read(folder: Path) -> dict[str, Any] | None:
    """What a folder's manifest says, if it is one that this version writes."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    texts = ("compiler", "digest", "library", "python")
    if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in texts):
        return None
    modules, sources = found.get("modules"), found.get("sources")
    if not isinstance(modules, dict) or not isinstance(sources, list):
        return None
    return found if all(isinstance(name, str) for name in (*modules.values(), *sources)) else None


def _found() -> CoreFinder | None:
    """The finder that is installed in this process."""
    return next((one for one in sys.meta_path if isinstance(one, CoreFinder)), None)


def install() -> None:
    """Let imports find the compiled core, if there is one and `TVM_CORE` does not forbid it."""
    asked = os.environ.get("TVM_CORE", "")
    if asked == "0" or _found() is not None:
        return
    folder = FOLDER if asked in ("", "1") else Path(asked)
    manifest = _read(folder) if folder.is_dir() else None
    if manifest is not None:
        finder: Any = CoreFinder(folder, manifest)
        sys.meta_path.insert(0, finder)
    if asked:
        found = _found()
        if found is None or found.refused:
            raise ImportError(
                f"TVM_CORE={asked} asks for the compiled core\n"
                f"  found: {described()}\n"
                "  legal: build it (make core), or TVM_CORE=0, or unset TVM_CORE"
            )


def described() -> str:
    """Whether this process runs the compiled core, and why not, in a few words."""
    if os.environ.get("TVM_CORE", "") == "0":
        return "plain Python (TVM_CORE=0)"
    found = _found()
    if found is None:
        return "plain Python (make core compiles it)"
    if found.refused:
        return f"plain Python: {found.refused} (make core)"
    return f"compiled, {len(found.modules)} modules ({found.manifest['compiler']})"
