"""The names of LLVM's intrinsics, read from the table of names in its library.

LLVM's Python binding has no function that tells them. The library holds all names one after the
other, each with a zero behind it, and a word that is no name in front of them.
"""

from __future__ import annotations

import functools
import importlib.util
import mmap
import re
from pathlib import Path
from typing import Final

_IN_FRONT: Final = b"\0not_intrinsic\0"
_MAX_BYTES: Final = 4 << 20  # far more than the table has
_NAME: Final = re.compile(rb"llvm\.[\w.-]+")
# The types that follow the name of an intrinsic for many: `.v4i32`, `.nxv2f64`, `.p0`, `.i1`.
_TYPES: Final = re.compile(r"(\.(nx)?(v\d+)?(i\d+|f\d+|bf16|ppcf128|p\d+(i8)?))+$")


@functools.cache
def intrinsic_names() -> frozenset[str]:
    """All names without types; none where there is no LLVM, or none that can be read."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return frozenset()
    for path in Path(found.origin).parent.glob("binding/*llvmlite*"):
        if path.suffix in (".so", ".dylib", ".dll"):
            names = _names_in(path)
            if names:
                return names
    return frozenset()


def _names_in(path: Path) -> frozenset[str]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.rfind(_IN_FRONT)
        if start < 0:
            return frozenset()
        start += len(_IN_FRONT)
        words = data[start : start + _MAX_BYTES].split(b"\0")
    names = []
    for word in words:
        if not _NAME.fullmatch(word):
            break
        names.append(word.decode())
    return frozenset(names)


def is_known(name: str) -> bool:
    """Whether LLVM knows an intrinsic, with or without types in its name."""
    names = intrinsic_names()
    return name in names or _TYPES.sub("", name) in names
