"""Extents of the inputs of a model, as it writes them: numbers, names, arithmetic, nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import SizeVar
from tvm.tir.op import arith as ops

# what exporters write for an extent that they know nothing of
UNKNOWN = "?"
# names, numbers, operators; "-" and "/" may be letters of a name, unless spaces are around them
_WORD = re.compile(r"\s*(\d+|[A-Za-z_][\w.:]*|//|[*+()]|(?<=\s)[-/](?=\s))")
_MAX_WORDS = 100  # of an expression; more is no name that somebody wrote
_OPERATORS: dict[str, tuple[int, Callable[[Any, Any], PrimExpr]]] = {
    "+": (1, ops.add), "-": (1, ops.subtract), "*": (2, ops.multiply),
    "/": (2, ops.floordiv), "//": (2, ops.floordiv),
}  # fmt: skip


class Dimensions:
    """Symbols by name, shared by all inputs; each unknown extent is one of its own.

    Arithmetic ("H * W") is read where all its names are extents of some input, which gives them
    their values; otherwise the whole text is a name.
    """

    def __init__(self, shapes: Sequence[Sequence[Any]]) -> None:
        texts = [dim for shape in shapes for dim in shape if isinstance(dim, str)]
        self._plain = {dim.strip() for dim in texts}
        self._symbols: dict[str, SizeVar] = {}

    def size(self, value: str, dim: Any) -> PrimExpr | int:
        """An extent of the input `value`."""
        if isinstance(dim, str):
            return self._named(dim.strip())
        if isinstance(dim, PrimExpr):
            return dim
        if not isinstance(dim, SupportsIndex) or dim.__index__() < 0:
            raise ShapeError(
                message(
                    f"from_onnx: an extent of input {value!r} is no size",
                    found=repr(dim),
                    legal="a number that is not negative, a name, or a tir expression",
                )
            )
        return dim.__index__()

    def _named(self, text: str) -> PrimExpr:
        if text == UNKNOWN:
            return SizeVar(UNKNOWN, "int64")
        computed = read_expression(text, self._symbol) if self._are_known(_words(text)) else None
        return self._symbol(text) if computed is None else computed

    def _are_known(self, words: Sequence[str]) -> bool:
        names = [word for word in words if word[0].isalpha() or word[0] == "_"]
        return bool(names) and self._plain.issuperset(names)

    def _symbol(self, name: str) -> SizeVar:
        key = identifier(name)
        if key not in self._symbols:
            self._symbols[key] = SizeVar(key, "int64")
        return self._symbols[key]


def read_expression(text: str, symbol: Callable[[str], PrimExpr]) -> PrimExpr | None:
    """What arithmetic over names and numbers says; None for any other text, and for one word."""
    words = _words(text)
    return _Reader(words, symbol).whole() if 1 < len(words) <= _MAX_WORDS else None


def _words(text: str) -> list[str]:
    """The parts of an expression; none if it is something else."""
    words: list[str] = []
    at = 0
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            return []
        words.append(found[1])
        at = found.end()
    return words


class _Reader:
    """Reads words as an expression: products before sums, from the left; None if it is none."""

    def __init__(self, words: Sequence[str], symbol: Callable[[str], PrimExpr]) -> None:
        self._words, self._at, self._symbol = words, 0, symbol

    def whole(self) -> PrimExpr | None:
        result = self._joined(1)
        return result if self._at == len(self._words) else None

    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _joined(self, level: int) -> PrimExpr | None:
        left = self._joined(level + 1) if level < 3 else self._part()
        while left is not None and _OPERATORS.get(self._next(), (0,))[0] == level < 3:
            make = _OPERATORS[self._next()][1]
            self._at += 1
            right = self._joined(level + 1)
            left = None if right is None else make(left, right)
        return left

    def _part(self) -> PrimExpr | None:
        word = self._next()
        self._at += 1
        if word.isdigit():
            return ops.const(int(word), "int64")
        if word == "(":
            inner = self._joined(1)
            closed = self._next() == ")"
            self._at += 1
            return inner if closed else None
        return self._symbol(word) if word and word not in (*_OPERATORS, ")") else None


def identifier(name: str) -> str:
    """The name as a Python identifier."""
    word = re.sub(r"\W", "_", name)
    return word if word and not word[0].isdigit() else f"input_{word}"


def declared(name: str, tensor_type: Any) -> list[Any] | None:
    """The extents that a model gives a value: numbers and names; None for an unknown rank."""
    if not tensor_type.HasField("shape"):
        return None
    return [
        # runtimes read a negative extent as an unknown one
        int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0
        else dim.dim_param or f"{name}_{axis}"
        for axis, dim in enumerate(tensor_type.shape.dim)
    ]  # fmt: skip


def merged(name: str, own: Sequence[Any] | None, given: Sequence[Any] | None) -> list[Any] | None:
    """The extents that a caller gives an input, of the model's rank.

    They stand for those of the model, numbers too: a model that was exported with one image is
    read for eight.
    """
    if given is None or not own:  # without any extent, some exporters mean that they know none
        found = own if given is None else given
        return None if found is None else list(found)
    if len(own) != len(given):
        raise ShapeError(
            message(
                f"from_onnx: shape_dict gives input {name!r} a rank that the model rules out",
                found=str(list(given)),
                legal=str(list(own)),
            )
        )
    return list(given)
