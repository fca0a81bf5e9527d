"""Digests of large data."""

from __future__ import annotations

import hashlib
import os

import pytest

from tvm.support.digest import PIECE_BYTES, content_digest


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_the_number_of_cores_does_not_count(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    content = bytes(range(256)) * (PIECE_BYTES // 256 * 4 + 1)
    wanted = content_digest(content)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert content_digest(content) == wanted
    pieces = [content[i : i + PIECE_BYTES] for i in range(0, len(content), PIECE_BYTES)]
    joined = b"".join(hashlib.sha256(piece).digest() for piece in pieces)
    assert wanted == hashlib.sha256(joined).hexdigest()


def test_one_bit_makes_another(tmp_path: object) -> None:
    content = bytearray(PIECE_BYTES * 3)
    before = content_digest(content)
    content[-1] ^= 1
    assert content_digest(content) != before
    assert content_digest(b"") != content_digest(b"\0")
