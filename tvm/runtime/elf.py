"""Whether a shared library of Linux is whole.

The loader maps a file by its header without looking at its length; a page behind the end then
kills the process at its first touch. (The loaders of macOS and Windows look.)
"""

from __future__ import annotations

import os
import struct
from typing import Final

from tvm.error import TVMError, message

_MAGIC: Final = b"\x7fELF"
# Of each class (1: 32 bits, 2: 64): header size; the form of e_phoff, e_shoff, e_flags, e_ehsize,
# e_phentsize, e_phnum, e_shentsize, e_shnum and its offset; the form and offset of p_offset and
# p_filesz in a program header. Tool Interface Standard, ELF 1.2; System V ABI, ELF-64.
_FORMS: Final = {
    1: (52, 28, "IIIHHHHH", 4, "I", 16, "I"),
    2: (64, 32, "QQIHHHHH", 8, "Q", 32, "Q"),
}


def check_whole(path: str) -> None:
    """Refuse a library that says of itself that it is longer than its file."""
    size = os.path.getsize(path)
    wanted = said_length(path)
    if wanted > size:
        raise TVMError(
            message(
                f"load_module {path!r}",
                found=f"{size} bytes of a library of {wanted}: it is cut short",
                legal="a whole shared library, as export_library writes it",
            )
        )


def said_length(path: str) -> int:
    """Where the last segment or table of an ELF file ends; 0 for files of other kinds."""
    with open(path, "rb") as file:
        head = file.read(64)
        if not head.startswith(_MAGIC) or len(head) < 6 or head[4] not in _FORMS:
            return 0
        header, table_at, form, offset_at, offset, filesz_at, filesz = _FORMS[head[4]]
        if len(head) < header:
            return header
        order = "<" if head[5] == 1 else ">"
        phoff, shoff, _, _, phentsize, phnum, shentsize, shnum = struct.unpack_from(
            order + form, head, table_at
        )
        file.seek(phoff)
        segments = file.read(phentsize * phnum)
    end: int = max(header, phoff + phentsize * phnum, shoff + shentsize * shnum)
    for start in range(0, len(segments) - phentsize + 1, phentsize or 1):
        begin = struct.unpack_from(order + offset, segments, start + offset_at)[0]
        end = max(end, begin + struct.unpack_from(order + filesz, segments, start + filesz_at)[0])
    return end
