"""A digest of large data, made on all cores: SHA-256 of the SHA-256 of its pieces."""

from __future__ import annotations

import os
from typing import Any, Final

PIECE_BYTES: Final = 1 << 23  # part of the meaning: other pieces give other digests


def content_digest(content: Any) -> str:
    """The digest of a buffer of bytes, in hexadecimal; the same for any number of cores."""
    import hashlib  # `import tvm` loads this file
    from concurrent.futures import ThreadPoolExecutor

    def digest(piece: memoryview) -> bytes:
        return hashlib.sha256(piece).digest()

    view = memoryview(content)
    pieces = [view[i : i + PIECE_BYTES] for i in range(0, view.nbytes, PIECE_BYTES)]
    if len(pieces) <= 2:
        digests = [digest(piece) for piece in pieces]
    else:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # hashing leaves the interpreter
            digests = list(pool.map(digest, pieces))
    return hashlib.sha256(b"".join(digests)).hexdigest()

