"""Modules: compiled functions by name, with the modules that they import."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, ClassVar

from tvm.error import TVMError, message
from tvm.ffi import Object, library
from tvm.support.suggest import did_you_mean

from ._device import Device
from .artefact import SYMBOL
from .benchmark import BenchmarkResult, Timing, evaluator
from .digest import check_seal
from .signing import Keys, signed_copy
from .threads import thread_count

BINARY_SERIALIZABLE, RUNNABLE, COMPILATION_EXPORTABLE = 1, 2, 4

# How files are loaded, by suffix, and how modules are exported, by kind. The functions are named
# and not imported: running a library needs no compiler.
LOADERS: dict[str, str] = {
    ".so": "tvm.runtime.library_module:load_library",
    ".dylib": "tvm.runtime.library_module:load_library",
    ".dll": "tvm.runtime.library_module:load_library",
    ".o": "tvm.backend.llvm.load:load_object",
    ".ll": "tvm.backend.llvm.load:load_text",
    ".bc": "tvm.backend.llvm.load:load_bitcode",
    ".c": "tvm.backend.c.load:load_source",
    ".tar": "tvm.runtime.archive:load_archive",
}
EXPORTERS: dict[str, str] = dict.fromkeys(
    ("llvm", "c", "module", "relax.VMExecutable"), "tvm.runtime.export:export"
)


def _named(home: str) -> Callable[..., Any]:
    module, _, name = home.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


class Module(Object):
    """The root of runtime modules; `mod["f"]` is the function f."""

    entry_name: ClassVar[str] = "main"
    kind: str = "module"

    def __init__(self) -> None:
        self._imports: list[Module] = []
        self._functions: dict[str, Any] = {}

    def unlinked(self) -> Module:
        """Another module of the same code, which links it for itself; imports are shared."""
        made = copy(self)
        made._imports = list(self._imports)
        made._functions = {}
        return made

    # --- functions ---

    def _find(self, name: str) -> Any:
        """The function called `name` in this module alone, or None; subclasses look it up."""
        return None

    def function_names(self) -> list[str]:
        """The functions of this module that can be called from outside."""
        return []

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """The function called `name`; AttributeError when there is none.

        `main` is also the name of a module's entry, whatever else it is called.
        """
        found = self.find_function(name) if query_imports else self._own_function(name)
        if found is not None:
            return found
        entry = self._entry_name() if name == self.entry_name else None
        if entry is not None and entry != name:
            return self.get_function(entry, query_imports)
        near = did_you_mean(name, self.function_names())
        raise AttributeError(f"Module has no function '{name}'{near}")

    def find_function(self, name: str) -> Any:
        """The function called `name` of this module or of one that it imports, or None."""
        for module in _walk(self):
            found = module._own_function(name)
            if found is not None:
                return found
        return None

    def _own_function(self, name: str) -> Any:
        """The function called `name` of this module alone, or None; looked up once."""
        found = self._functions.get(name)
        if found is None:
            found = self._find(name)
            if found is None:
                return self._about_itself(name)
            self._functions[name] = found
        return found

    def _about_itself(self, name: str) -> Any:
        """What scripts ask of a module as if it were one of its functions."""
        return self.function_names if name == "get_func_names" else None

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Can only take string as function name")
        return self.get_function(name, query_imports=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        own = getattr(type(self), name, None)
        if isinstance(own, property) and own.fget is not None:
            return own.fget(self)  # a property that raised AttributeError leads here; raise it
        return self.get_function(name, query_imports=True)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the module (or one that it imports) has a function called `name`."""
        modules = _walk(self) if query_imports else iter([self])
        return any(name in m.function_names() or m._find(name) is not None for m in modules)

    @property
    def entry_func(self) -> Any:
        """The function that calling the module calls: `main`, or the only one there is."""
        name = self._entry_name()
        if name is None:
            names = ", ".join(self.function_names()) or "none"
            raise AttributeError(
                message(
                    "call of a module",
                    found=f"no function {self.entry_name!r}; its functions: {names}",
                    legal='mod["name"](...)',
                )
            )
        return self.get_function(name, query_imports=True)

    def _entry_name(self) -> str | None:
        if self.implements_function(self.entry_name, query_imports=True):
            return self.entry_name
        names = self.function_names()
        return names[0] if len(names) == 1 else None

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    # --- imports ---

    @property
    def imports(self) -> list[Module]:
        """The modules that this one imports."""
        return list(self._imports)

    @property
    def imported_modules(self) -> list[Module]:
        """The older name of `imports`."""
        return self.imports

    def import_module(self, module: Module) -> None:
        """Let this module use the functions of another."""
        if not isinstance(module, Module):
            raise TypeError(
                message("import_module", found=type(module).__name__, legal="a runtime.Module")
            )
        if any(m is self for m in _walk(module)):
            raise TVMError("import_module: the modules would import each other in a circle")
        self._imports.append(module)

    def clear_imports(self) -> None:
        """Forget all imports."""
        self._imports.clear()

    # --- what it is ---

    @property
    def type_key(self) -> str:
        """The older name of `kind`."""
        return self.kind

    @property
    def is_device_module(self) -> bool:
        """Whether its functions run on a device other than the CPU."""
        return False

    def get_property_mask(self) -> int:
        """Which of serializable, runnable, exportable it is, as bits."""
        return RUNNABLE

    def is_binary_serializable(self) -> bool:
        """Whether it can be stored as bytes inside another module's file."""
        return bool(self.get_property_mask() & BINARY_SERIALIZABLE)

    def is_runnable(self) -> bool:
        """Whether its functions can be called here."""
        return bool(self.get_property_mask() & RUNNABLE)

    def is_compilation_exportable(self) -> bool:
        """Whether it can be written as an object file."""
        return bool(self.get_property_mask() & COMPILATION_EXPORTABLE)

    def get_write_formats(self) -> Sequence[str]:
        """The formats that `write_to_file` takes."""
        return ()

    def inspect_source(self, fmt: str = "") -> str:
        """The source code of the module; empty if it has none."""
        return ""

    def get_source(self, fmt: str = "") -> str:
        """The older name of `inspect_source`."""
        return self.inspect_source(fmt)

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module in one of its formats, by default that of the name's suffix."""
        raise TVMError(
            message(
                f"write a {self.kind} module to {file_name!r}",
                found="this kind of module cannot be written by itself",
                legal="export_library",
            )
        )

    def save(self, file_name: str, fmt: str = "") -> None:
        """The older name of `write_to_file`."""
        self.write_to_file(file_name, fmt)

    def save_to_bytes(self) -> bytes:
        """The module as bytes, where `is_binary_serializable`."""
        raise TVMError(
            message(
                f"a {self.kind} module as bytes",
                found="this kind of module cannot be written so",
                legal="export_library",
            )
        )

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        *,
        fcompile: Callable[..., Any] | None = None,
        fpack_imports: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Write this module and all that it imports as one file that `load_module` reads.

        `fcompile(file_name, objects, **kwargs)` replaces the linker. The suffix decides: `.so`
        (also `.dylib`, `.dll`) a shared library, `.o` an object, `.tar` an archive of objects.
        """
        home = EXPORTERS.get(self.kind)
        if home is None:
            raise TVMError(
                message(
                    f"export a {self.kind} module",
                    found="this kind of module cannot be exported",
                    legal=", ".join(sorted(EXPORTERS)),
                )
            )
        return _named(home)(
            self,
            os.fspath(file_name),
            fcompile=fcompile,
            fpack_imports=fpack_imports,
            addons=addons,
            workspace_dir=workspace_dir,
            **kwargs,
        )

    # --- what export asks of modules with code ---

    @property
    def foreign_triple(self) -> str:
        """The machine that the code is for, if it is another than this one."""
        return ""

    @property
    def marked_entry(self) -> str | None:
        """The function that was marked as the entry when the code was made."""
        return None

    @property
    def compile_options(self) -> list[str]:
        """Options of a compiler that source files among `code_files` rely on."""
        return []

    def code_files(self, folder: Path, stem: str) -> list[Path]:
        """Files for a linker with the code of this module, written to a folder."""
        return []

    def whole_object(self, data: Mapping[str, bytes]) -> bytes | None:
        """One object with the code and with data by symbol; None if only a linker can make it."""
        return None

    def constant_bytes(self) -> dict[str, Any]:
        """The constants outside of the code, as flat arrays of bytes by symbol."""
        return {}

    def data_file(self, lines: list[str], folder: Path) -> Path:
        """A file for a linker made of lines of assembly that describe data."""
        path = folder / "data.s"
        path.write_text("\n".join([*lines, ""]))
        return path

    # --- measuring ---

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures `func_name` on its arguments and gives a BenchmarkResult."""
        timing = Timing(
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
            cache_flush_bytes,
            f_preproc,
        )
        return evaluator(self.get_function(func_name, query_imports=True), dev, timing)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Module({self.kind}, functions: {', '.join(self.function_names()) or 'none'})"


def _walk(root: Module) -> Iterator[Module]:
    """`root` and all that it imports, each once."""
    seen: list[Module] = []
    todo = [root]
    while todo:
        module = todo.pop()
        if any(module is m for m in seen):
            continue
        seen.append(module)
        yield module
        todo.extend(reversed(module._imports))


def import_tree(root: Module) -> list[Module]:
    """`root` and all modules that it imports, directly or not."""
    return list(_walk(root))


def load_module(
    path: str | os.PathLike[str], fmt: str = "", *, trusted_keys: Keys | None = None
) -> Module:
    """The module stored in a file: `.so`, `.dylib`, `.dll`, `.o`, `.tar`.

    With trusted keys (paths of `.pub` files, or their lines `ed25519 ...`), or with those that
    TVM_TRUSTED_KEYS names, one of them has to have signed the file: SignatureError otherwise.
    """
    name, suffix = _loadable(path, fmt)
    return _load(signed_copy(name, trusted_keys, suffix), suffix)


def load_own(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """The module of a file that this program has just written itself, which nobody signed."""
    return _load(*_loadable(path, fmt))


def _loadable(path: str | os.PathLike[str], fmt: str) -> tuple[str, str]:
    """The name of a file, and the suffix by which it is loaded."""
    name = os.fspath(path)
    if not Path(name).is_file():
        raise ValueError(
            message(
                f"load_module {name!r}",
                found="no such file" if not Path(name).exists() else "not a file",
                legal="a file written by export_library",
            )
        )
    suffix = "." + fmt if fmt else Path(name).suffix
    if suffix not in LOADERS:
        raise ValueError(
            message(
                f"load_module {name!r}",
                found=f"a file with the suffix {suffix!r}",
                legal=", ".join(LOADERS),
            )
        )
    return name, suffix


def _load(name: str, suffix: str) -> Module:
    check_seal(name)
    module: Module = _named(LOADERS[suffix])(str(Path(name).absolute()))
    return module


def load_archive(path: str) -> Module:
    """The module of an archive of objects."""
    module: Module = _named(LOADERS[".tar"])(path)
    return module


def load_static_library(path: str, func_names: Sequence[str]) -> Module:
    """The functions of an object file (`.o`) that are callable by the given names.

    The object is one that export_library wrote, or one that others compiled. Where
    TVM_TRUSTED_KEYS names keys, one of them has to have signed it.
    """
    if Path(path).is_file():
        path = signed_copy(str(path), None, Path(path).suffix)
    if Path(path).is_file() and SYMBOL.encode() not in Path(path).read_bytes():
        made: Module = _named("tvm.runtime.static_library:StaticLibrary")(str(path), func_names)
        return made
    module = load_own(path)
    missing = [name for name in func_names if not module.implements_function(name)]
    if missing:
        raise ValueError(
            message(
                f"load_static_library {path!r}",
                found=f"no function {', '.join(missing)}",
                legal=", ".join(module.function_names()),
            )
        )
    return module


def system_lib(symbol_prefix: str = "") -> Module:
    """The module of the functions that are linked into this program itself."""
    return ForeignModule(library().system_lib(symbol_prefix))


class ForeignModule(Module):
    """A module of the tvm_ffi library, such as its system library, as one of ours."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._module = module
        self.kind = str(module.kind)

    def _find(self, name: str) -> Any:
        try:
            return self._module.get_function(name)
        except AttributeError:
            return None


def enabled(target: str) -> bool:
    """Whether code for a target or device kind can be run here."""
    name = target.split(" ")[0]
    if name in ("cpu", "llvm", "c", "stackvm"):
        return True
    try:
        return Device(name).exist
    except ValueError:
        return False


def num_threads() -> int:
    """Threads that a parallel loop uses (TVM_NUM_THREADS, else the cores of this process)."""
    return thread_count()
