"""Tensors of strings: int64 codes, equal where the strings are.

A code of 0 or more is a string of up to 7 bytes of UTF-8 itself; a negative one is the digest of a
longer one, which this process keeps to find it again. Kernels move and compare codes like any
numbers; what makes new strings is a packed function, `tvm.contrib.strings.*`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm.error import ArgumentValueError, message
from tvm.ffi import register_global_func
from tvm.support.re2 import compiled

from ._tensor import Tensor, host_view, tensor

_SHORT = 7  # bytes; the eighth holds their number
_texts: dict[int, str] = {}


def encode(values: Any) -> Tensor:
    """An int64 tensor of the codes of strings (numpy array or nested lists, of any shape).

    Raises TypeError where an element is no string.
    """
    found = np.asarray(values, object)
    return tensor(_mapped(lambda text: remembered(_as_text(text)), found, np.int64))


def decode(codes: Any) -> NDArray[np.object_]:
    """The strings (a numpy array of `object`) of a tensor of codes.

    Raises ArgumentValueError for a code of a long string that this process has not seen.
    """
    view = codes.numpy() if isinstance(codes, Tensor) else np.asarray(codes)
    if view.dtype != np.int64:
        raise TypeError(
            message("tvm.runtime.strings.decode", found=f"{view.dtype}", legal="codes, of int64")
        )
    return _mapped(lambda code: text_of(int(code)), view, object)


def forget() -> None:
    """Drop the long strings that this process keeps; tensors of them cannot be decoded any more."""
    _texts.clear()


def code_of(text: str) -> int:
    """The code of a string, the same in every process; nothing is kept."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= _SHORT:
        return int.from_bytes(data, "big") | len(data) << 8 * _SHORT
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") | -(1 << 63)


def remembered(text: str) -> int:
    """The code of a string, which `text_of` finds from now on."""
    code = code_of(text)
    if code < 0 and _texts.setdefault(code, text) != text:
        raise ArgumentValueError(
            message(
                "tvm.runtime.strings: two long strings have one digest",
                found=f"{text[:80]!r} and {_texts[code][:80]!r}",
                legal="tvm.runtime.strings.forget() between programs that use them",
            )
        )
    return code


def text_of(code: int) -> str:
    """The string of a code."""
    length = code >> 8 * _SHORT
    if 0 <= length <= _SHORT:
        return (code & (1 << 8 * length) - 1).to_bytes(length, "big").decode("utf-8", "replace")
    if code not in _texts:
        raise ArgumentValueError(
            message(
                "tvm.runtime.strings: the code of a string",
                found=f"{code}, which this process has not seen",
                legal="codes made by tvm.runtime.strings.encode or by a program run here",
            )
        )
    return _texts[code]


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise TypeError(
            message("tvm.runtime.strings.encode", found=type(value).__name__, legal="strings")
        )
    return str(value)


def _mapped(func: Callable[[Any], Any], values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    result: NDArray[Any] = np.empty(values.shape, dtype)
    result.reshape(-1)[:] = [func(value) for value in values.reshape(-1)]
    return result


def _read(codes: Tensor) -> NDArray[np.object_]:
    return decode(host_view(codes))


def _write(out: Tensor, texts: NDArray[Any]) -> None:
    host_view(out)[...] = _mapped(remembered, texts, np.int64)


# --- what programs call ---


@register_global_func("tvm.contrib.strings.of", override=True)
def of(*texts: str) -> Tensor:
    """Strings that a program holds, as a tensor (n,)."""
    return encode(np.array([str(text) for text in texts], object))


@register_global_func("tvm.contrib.strings.concat", override=True)
def concat(a: Tensor, b: Tensor, out: Tensor) -> None:
    """Strings of `a` followed by those of `b`, which are broadcast, into `out`."""
    left, right = np.broadcast_arrays(_read(a), _read(b))
    texts = np.empty(left.shape, object)
    texts.reshape(-1)[:] = [x + y for x, y in zip(left.reshape(-1), right.reshape(-1))]
    _write(out, texts)


@register_global_func("tvm.contrib.strings.split", override=True)
def split(x: Tensor, delimiter: str, most: int) -> tuple[Tensor, Tensor]:
    """The pieces of each string along a new last axis, filled up with empty ones; and how many.

    Without a delimiter, runs of white space divide; at most `most` divisions, unless negative.
    An empty string has no pieces.
    """
    texts = _read(x)
    flat = texts.reshape(-1)
    pieces = [text.split(str(delimiter) or None, int(most)) if text else [] for text in flat]
    if not delimiter:
        pieces = [[*found[:-1], found[-1].rstrip()] if found else [] for found in pieces]
    counts = np.array([len(found) for found in pieces], np.int64)
    table = np.full((len(flat), int(counts.max(initial=0))), code_of(""), np.int64)
    for row, found in zip(table, pieces):
        row[: len(found)] = [remembered(piece) for piece in found]
    shape = texts.shape
    return tensor(table.reshape(*shape, table.shape[1])), tensor(counts.reshape(shape))


@register_global_func("tvm.contrib.strings.normalize", override=True)
def normalize(x: Tensor, case: str, sensitive: int, *stop_words: str) -> Tensor:
    """Words of (n,) or (1, n) that are no stop words, in lower or upper case; one at least."""
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(str(case), str)
    alike = str if sensitive else str.lower
    stop = {alike(str(word)) for word in stop_words}
    codes = host_view(x)
    kept = [change(text) for text in _read(x).reshape(-1) if alike(text) not in stop] or [""]
    return encode(np.array(kept, object).reshape((-1,) if codes.ndim == 1 else (1, -1)))


@register_global_func("tvm.contrib.strings.full_match", override=True)
def full_match(x: Tensor, pattern: str, out: Tensor) -> None:
    """Whether each whole string is as the pattern (RE2's syntax) says, into `out`."""
    found = compiled(str(pattern)).fullmatch
    host_view(out)[...] = _mapped(lambda text: found(text) is not None, _read(x), np.bool_)


@register_global_func("tvm.contrib.strings.unique", override=True)
def unique(x: Tensor, ordered: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The strings of (n,), each once, in the order of their bytes or as they come first.

    And where each is first, which of them each one is, and how often it is there.
    """
    codes = host_view(x)
    _, first, inverse, counts = np.unique(
        codes, return_index=True, return_inverse=True, return_counts=True
    )
    words = [text.encode("utf-8", "surrogatepass") for text in decode(codes[first])]
    order = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
    order = order if ordered else np.argsort(first)
    place = np.argsort(order)
    parts = (codes[first[order]], first[order], place[inverse], counts[order])
    return tuple(tensor(part.astype(np.int64)) for part in parts)  # type: ignore[return-value]


@register_global_func("tvm.contrib.strings.to_numbers", override=True)
def to_numbers(x: Tensor, out: Tensor) -> None:
    """The numbers that strings spell, into `out`; raises ArgumentValueError for other strings."""
    view = host_view(out)
    kind = view.dtype.kind
    read: Callable[[str], Any] = int if kind in "iu" else float
    if kind == "b":
        read = lambda text: int(text) != 0  # noqa: E731  one of three ways to read

    def number(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise ArgumentValueError(
                message("a cast of strings", found=repr(text[:80]), legal=f"text of a {view.dtype}")
            ) from None

    view[...] = _mapped(number, _read(x), object).astype(view.dtype)


@register_global_func("tvm.contrib.strings.from_numbers", override=True)
def from_numbers(x: Tensor, out: Tensor) -> None:
    """Numbers spelled out, as ONNX Runtime does: floats with 8 significant digits, into `out`."""
    view = host_view(x)
    _write(out, _mapped(_spelled, view.astype(object), object))


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    number = float(value)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "INF" if number > 0 else "-INF"
    return re.sub(r"\.0+(?=e|$)", "", f"{number:.8g}")
