"""Strings cut into tokens, and hashed: what text vectorisers do first (com.microsoft).

As `tvm.runtime.strings` has it, programs see codes of strings; these are packed functions.
"""

from __future__ import annotations

import re

import numpy as np

from tvm.ffi import register_global_func
from tvm.support.re2 import compiled

from ._tensor import Tensor, host_view, tensor
from .strings import decode, remembered

_START, _END = "\x02", "\x03"


@register_global_func("tvm.contrib.strings.tokenize", override=True)
def tokenize(x: Tensor, pad: str, mark: int, least: int, token: str, *separators: str) -> Tensor:
    """Tokens of each string along a new last axis, filled up with `pad`.

    They are what `token` matches or, without it, what is between separators (RE2's syntax; the
    longest match counts); "." is single characters. Tokens of fewer than `least` characters go;
    with `mark` each row stands between two marks, if there are tokens at all.
    """
    texts = decode(host_view(x))
    if str(token) == ".":
        rows = [list(text) for text in texts.reshape(-1)]
    elif token:
        rows = [_matches(compiled(str(token)), text) for text in texts.reshape(-1)]
    else:
        rows = [[text] for text in texts.reshape(-1)]
        for separator in separators:
            pattern = compiled(str(separator))
            rows = [[part for piece in row for part in _between(pattern, piece)] for row in rows]
    rows = [[part for part in row if part and len(part) >= least] for row in rows]
    if mark and any(rows):
        rows = [[_START, *row, _END] for row in rows]
    width = max(map(len, rows), default=0)
    table = np.full((len(rows), width), remembered(str(pad)), np.int64)
    for line, row in zip(table, rows):
        line[: len(row)] = [remembered(part) for part in row]
    return tensor(table.reshape(*texts.shape, width))


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Where the pattern matches one character or more: the first place, and as far as it can."""
    found, at = [], 0
    several = "|" in pattern.pattern or re.search(r"[*+?}]\?", pattern.pattern) is not None
    while at < len(text) and (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if several:
            ends = range(len(text), end, -1)
            end = next((e for e in ends if pattern.fullmatch(text, start, e)), end)
        if end > start:
            found.append((start, end))
        at = max(end, start + 1)
    return found


def _matches(pattern: re.Pattern[str], text: str) -> list[str]:
    return [text[start:end] for start, end in _spans(pattern, text)]


def _between(pattern: re.Pattern[str], text: str) -> list[str]:
    found = _spans(pattern, text)
    starts, ends = [0, *(end for _, end in found)], [*(start for start, _ in found), len(text)]
    return [text[start:end] for start, end in zip(starts, ends)]


@register_global_func("tvm.contrib.strings.murmur", override=True)
def murmur(x: Tensor, is_text: int, seed: int, out: Tensor) -> None:
    """MurmurHash3 (x86, 32 bits) of strings in UTF-8, or of the bytes of numbers, into `out`."""
    values, into = host_view(x), host_view(out)
    if is_text:
        parts = [text.encode("utf-8", "surrogatepass") for text in decode(values).reshape(-1)]
    else:
        parts = [value.tobytes() for value in values.reshape(-1)]
    hashes = np.array([_murmur(part, int(seed)) for part in parts], np.uint32)
    into[...] = hashes.view(into.dtype).reshape(into.shape)


_BITS = 0xFFFFFFFF


def _murmur(data: bytes, seed: int) -> int:
    mixed, whole = seed & _BITS, len(data) // 4 * 4
    for i in range(0, whole, 4):
        mixed = _turned(mixed ^ _scrambled(data[i : i + 4]), 13) * 5 + 0xE6546B64 & _BITS
    mixed ^= _scrambled(data[whole:]) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ mixed >> shift) * factor & _BITS
    return mixed ^ mixed >> 16


def _scrambled(part: bytes) -> int:
    word = int.from_bytes(part, "little") * 0xCC9E2D51 & _BITS
    return _turned(word, 15) * 0x1B873593 & _BITS


def _turned(word: int, bits: int) -> int:
    """A word of 32 bits, rotated to the left."""
    return (word << bits | word >> 32 - bits) & _BITS
