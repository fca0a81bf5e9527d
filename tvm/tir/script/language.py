"""The language `T` as one module: what stands around a program, and all words in it."""

from typing import Any as _Any

from . import words as _words
from .entry import BufferType as Buffer
from .entry import Ptr, TIRMacro, macro, prim_func

inline = macro


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _words.word(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_words.__dir__(), *__all__})


__all__ = ["Buffer", "Ptr", "TIRMacro", "inline", "macro", "prim_func"]
