"""The one place that loads the `tvm_ffi` library, at first need."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
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

    Importing it costs 130 ms and pulls numpy in, which is why `import tvm` does not.
    """
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                with _torch_hidden():
                    import tvm_ffi

                _teach_errors(tvm_ffi)
                _show_by_repr(tvm_ffi.core)
                _loaded = tvm_ffi
                for action in _at_load:
                    assert callable(action)
                    action(tvm_ffi)
    return _loaded


def without_torch() -> None:
    """Let the library load as where torch is not installed: it imports torch else, for seconds.

    For programs that will never hand tensors of torch over. Where torch is loaded, it stays known.
    """
    global _wants_torch
    _wants_torch = False


@contextlib.contextmanager
def _torch_hidden() -> Iterator[None]:
    if _wants_torch or "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # "not to be found"
    try:
        yield
    finally:
        del sys.modules["torch"]


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
