"""The names that scripts take from the root of the package: its version, its root error."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Final, final

# What a call through the FFI may raise is any class of Python, so nothing narrower catches all.
TVMError = Exception
_RUNTIME_ONLY: Final = False
__version__: str = importlib.import_module("tvm").__version__


@final
class _Library:
    """Where others have a library of native code; `_name` is the file that stands for it."""

    _name: Final = str(Path(__file__).with_name("__init__.py"))


_LIB: Final = _Library()


def py_str(x: bytes) -> str:
    """Bytes of native code as text."""
    return x.decode("utf-8")


__all__ = ["TVMError", "__version__", "py_str"]
