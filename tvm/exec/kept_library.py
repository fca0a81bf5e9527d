"""Libraries that were written before, in the compile cache: an unchanged model is not linked again.

    the file = head + constants of the kept model (mapped, not copied) + tail

An entry has the head, the tail and what is told of the library; the constants are those that
`tvm.relax.vm.kept` keeps anyway. Neither numpy, LLVM nor a linker is loaded to write the file.
"""

from __future__ import annotations

import json
import os
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final, NamedTuple

from tvm.backend.llvm import cache
from tvm.runtime.files import draft_of
from tvm.support.digest import content_digest

_SMALL: Final = 1 << 22  # bytes of a library that is kept as it is
_PIECE: Final = 1 << 20
_SAMPLE: Final = 1 << 12  # the constants are found by so many of their bytes


class KeptLibrary(NamedTuple):
    """The parts of a library, and what there is to tell of it."""

    head: memoryview
    data: memoryview
    tail: memoryview
    runs: bool  # the linker made it a file that may be executed
    lines: list[str]
    told: dict[str, object]

    def write(self, path: Path) -> None:
        """Write the library; on any failure the old file stays as it is."""
        with draft_of(path) as draft:
            with draft.open("wb") as file:
                for part in (self.head, self.data, self.tail):
                    file.write(part)
            if self.runs:
                mode = draft.stat().st_mode
                draft.chmod(mode | (mode & 0o444) >> 2)


def find(key: str) -> KeptLibrary | None:
    """The library that was kept under a name; None where there is none, or a damaged one."""
    content = cache.load(key)
    if content is None:
        return None
    top, _, rest = content.partition(b"\n")
    record: dict[str, Any] = json.loads(top)
    data = memoryview(b"")
    if record["places"]:
        found = cache.load_data(record["model"])
        if found is None:
            return None
        for start, size, digest in record["places"]:
            piece = found[start : start + size]
            if piece.nbytes != size or content_digest(piece) != digest:
                return None
        data = found[: record["places"][-1][0] + record["places"][-1][1]]
    code = memoryview(rest)
    head, tail = code[: record["head"]], code[record["head"] :]
    return KeptLibrary(head, data, tail, record["runs"], record["lines"], record["told"])


def keep(
    key: str, path: Path, model: str, lines: list[str], told: dict[str, object]
) -> None:
    """Keep the library in a file, which was made of a kept model, if it is as is said above."""
    kept = cache.load(model)
    if kept is None:
        return
    places = [[start, size, digest] for start, size, *_, digest in json.loads(kept)["places"]]
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        size = len(content)
        start = end = size
        if size > _SMALL:
            data = cache.load_data(model) if places else None
            if data is None:
                return
            end = places[-1][0] + places[-1][1]
            start = content.find(data[:_SAMPLE])
            if start < 0 or not _alike(content, start, data[:end]):
                return
            end += start
        else:
            places = []
        code = content[:start] + content[end:]
    top = {
        "model": model, "places": places, "head": start, "lines": lines, "told": told,
        "runs": os.access(path, os.X_OK),
    }  # fmt: skip
    cache.store(key, json.dumps(top).encode() + b"\n" + code)


def _alike(content: mmap, start: int, data: memoryview) -> bool:
    """Whether the bytes of a file from `start` on are the data."""
    for at in range(0, data.nbytes, _PIECE):
        piece = bytes(data[at : at + _PIECE])  # views are compared byte by byte
        if content[start + at : start + at + len(piece)] != piece:
            return False
    return True
