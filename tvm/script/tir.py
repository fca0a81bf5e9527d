"""The door to `T`: `from tvm.script import tir as T`."""

from typing import Any as _Any

from tvm.tir.script import words as _words
from tvm.tir.script.entry import BufferType as Buffer
from tvm.tir.script.entry import Ptr, TIRMacro, macro, prim_func


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _words.word(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_words.__dir__(), "Buffer", "Ptr", "TIRMacro", "macro", "prim_func"})


__all__ = ["Buffer", "Ptr", "TIRMacro", "macro", "prim_func"]
