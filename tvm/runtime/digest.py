"""A seal at the end of exported files: what stands before it is as it was written.

    content ... "\n;tvm-seal 1 " BLAKE2b-256 of the content in hexadecimal "\n"

Loaders of ELF files and of archives stop before such an end; other forms have no seal. It tells
damage, and not who wrote the file: whoever changes a file can seal it anew.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from tvm.error import TVMError, message

MARK: Final = b"\n;tvm-seal 1 "
_HEX_BYTES: Final = 64
_SEAL_BYTES: Final = len(MARK) + _HEX_BYTES + 1
_NEAR_BYTES: Final = 1 << 12  # of the end, where the mark of a seal stands for nothing else
_ELF: Final = b"\x7fELF"
_PIECE: Final = 1 << 20


def seal(path: str | os.PathLike[str]) -> None:
    """Put a seal at the end of an ELF file; others stay as they are."""
    with open(path, "r+b") as file:
        if file.read(len(_ELF)) != _ELF:
            return
        size = os.fstat(file.fileno()).st_size
        digest = _digest(path, size)
        file.seek(size)
        file.write(_seal(digest))


def is_elf(content: bytes) -> bool:
    """Whether bytes are of a form that may have a seal."""
    return content.startswith(_ELF)


def sealed(content: bytes) -> bytes:
    """Content with its seal."""
    return content + _seal(hashlib.blake2b(content, digest_size=_HEX_BYTES // 2).hexdigest())


def check_seal(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a seal; TVMError if it does not fit what is before it."""
    whole = Path(path).stat().st_size
    size = whole - _SEAL_BYTES
    with open(path, "rb") as file:
        file.seek(max(whole - _NEAR_BYTES, 0))
        tail = file.read(_NEAR_BYTES)
    found = tail[-_SEAL_BYTES:]
    if size < 0 or not found.startswith(MARK):
        if MARK in tail:  # bytes were added within the seal, or behind it
            raise _damaged(path)
        return False
    if found != _seal(_digest(path, size)):
        raise _damaged(path)
    return True


def check_sealed(content: bytes, path: str | os.PathLike[str]) -> bool:
    """Whether the content of a file has a seal; TVMError if it does not fit what is before it."""
    if not content[-_SEAL_BYTES:].startswith(MARK):
        if MARK in content[-_NEAR_BYTES:]:  # bytes were added within the seal, or behind it
            raise _damaged(path)
        return False
    if content != sealed(content[:-_SEAL_BYTES]):
        raise _damaged(path)
    return True


def _damaged(path: str | os.PathLike[str]) -> TVMError:
    return TVMError(
        message(
            f"load {os.fspath(path)!r}",
            found="a damaged file: its content does not fit the digest at its end",
            legal="the file as it was written",
        )
    )


def _seal(digest: str) -> bytes:
    return MARK + digest.encode() + b"\n"


def _digest(path: str | os.PathLike[str], size: int) -> str:
    digest, left = hashlib.blake2b(digest_size=_HEX_BYTES // 2), size
    with open(path, "rb") as file:
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()
