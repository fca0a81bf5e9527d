"""The door to `R`: `from tvm.script import relax as R`."""

from typing import Any as _Any

from tvm.relax.script import words as _words
from tvm.relax.script.entry import RelaxMacro, function, macro, match_cast, rewriter
from tvm.relax.script.proxies import Callable, Object, Prim, Shape, Tensor, Tuple


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _words.word(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_words.__dir__(), *__all__})


__all__ = [
    "Callable", "Object", "Prim", "RelaxMacro", "Shape", "Tensor", "Tuple", "function", "macro",
    "match_cast", "rewriter",
]  # fmt: skip
