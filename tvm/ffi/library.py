"""The one module that loads the `tvm_ffi` library, at first need."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tvm.error as _errors

_lock = threading.RLock()
_loaded: ModuleType | None = None
_at_load: list[object] = []
_wants_torch = True


def is_loaded() -> bool:
    """True once something has asked for the library, or imported it by its own name."""
    return _loaded is not None or sys.modules.get("tvm_ffi") is not None


def library() -> ModuleType:
    """The `tvm_ffi` package, with our error classes known to it and pending functions registered.

    Importing it costs 130 ms and brings numpy, which is why `import tvm` does not.
    """
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                with _torch_left_alone() as is_alone:
                    import tvm_ffi

                if is_alone:
                    _find_torch_later(tvm_ffi)
                _teach_errors(tvm_ffi)
                _show_by_repr(tvm_ffi.core)
                _loaded = tvm_ffi
                for action in _at_load:
                    assert callable(action)
                    action(tvm_ffi)
    return _loaded


def without_torch() -> None:
    """Let the library load as where torch is not installed.

    For programs that will never hand tensors of torch over, nor streams of CUDA's own bindings.
    Where torch is loaded, it stays known.
    """
    global _wants_torch
    _wants_torch = False


@contextlib.contextmanager
def _torch_left_alone() -> Iterator[bool]:
    """Let this thread's imports find no torch; True where that is so.

    The library imports torch for the sake of its tensors, which takes seconds. Those that bring
    what the library reads them by are known to it whenever they come.
    """
    if "torch" in sys.modules or (_wants_torch and _is_torch_helped()):
        yield False
        return
    finder = _NotFound(("torch",) if _wants_torch else ("torch", "cuda"))
    sys.meta_path.insert(0, finder)
    try:
        yield True
    finally:
        sys.meta_path.remove(finder)


def _is_torch_helped() -> bool:
    """Whether the library gives tensors of the installed torch what it reads them by."""
    if sys.platform == "win32":  # loaded after the library, its symbols conflict there
        return True
    spec = importlib.util.find_spec("torch")
    if spec is None:
        return False
    with contextlib.suppress(OSError):
        for folder in spec.submodule_search_locations or ():
            return "__dlpack_c_exchange_api__" not in Path(folder, "_tensor.py").read_text("utf-8")
    return True


class _NotFound:
    """A finder by which one thread finds some packages not to be there."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Nothing, or the error that an import of what is not installed ends with."""
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _find_torch_later(tvm_ffi: Any) -> None:
    """Let streams of torch be taken when it is there, as the library did not look at first."""

    def use_torch_stream(context: Any = None) -> Any:
        """A context in which torch and the library use one stream of torch, or its graph."""
        found = importlib.reload(importlib.import_module("tvm_ffi.stream")).use_torch_stream
        tvm_ffi.use_torch_stream = found
        return found(context)

    tvm_ffi.use_torch_stream = use_torch_stream


def at_load(action: object) -> None:
    """Call `action(tvm_ffi)` as soon as the library is there."""
    _at_load.append(action)
    if _loaded is not None:
        assert callable(action)
        action(_loaded)


def _teach_errors(tvm_ffi: ModuleType) -> None:
    """Let an error that native code raises as "ShapeError" arrive as our `ShapeError`."""
    for name, value in vars(_errors).items():
        if isinstance(value, type) and issubclass(value, _errors.TVMError):
            tvm_ffi.register_error(name, value)


def _show_by_repr(core: Any) -> None:
    """Let the library print an object of Python's, such as a key in an access path, by its `repr`.

    Where somebody has said before how to print them, or in a library too old to be told, it stays.
    """
    register = getattr(core, "_register_type_attr", None)
    if register is not None:
        index = core._object_type_key_to_index("ffi.OpaquePyObject")
        with contextlib.suppress(RuntimeError):
            register(index, "__ffi_repr__", lambda held, _: repr(held))
