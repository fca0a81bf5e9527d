"""Data as an object file of Linux, written from where it lies: no assembler copies it.

    header | .rodata: the pieces, each at an aligned place | symbols and names | table of sections

The layout is that of the System V ABI ("Tool Interface Standard, Executable and Linking Format",
1995), in its form of 64 bits, little end first.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

MACHINES: Final = {"x86_64": 62, "aarch64": 183}  # those whose data needs no flags
_HEADER_BYTES: Final = 64
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOC: Final = 2  # the section is part of the program's memory
_GLOBAL_DATA: Final = 0x11
_NAMES: Final = ("", ".rodata", ".note.GNU-stack", ".symtab", ".strtab", ".shstrtab")
_DATA_SECTION: Final = 1


def write_data_object(path: Path, machine: str, data: Mapping[str, Any], align: int) -> None:
    """A relocatable object with read-only `data`, flat buffers of bytes by symbol.

    `machine` is one of MACHINES; each symbol lies at a multiple of `align`.
    """
    places: dict[str, tuple[int, int]] = {}
    with path.open("wb") as file:
        file.write(b"\0" * -(-_HEADER_BYTES // align) * align)
        start = file.tell()
        for name, content in data.items():
            view = memoryview(content).cast("B")
            file.write(b"\0" * (-file.tell() % align))
            places[name] = (file.tell() - start, view.nbytes)
            file.write(view)
        size = file.tell() - start
        symbols, names = _symbols(places)
        labels = _strings(_NAMES)
        file.write(b"\0" * (-file.tell() % 8))
        tables = file.tell()
        file.write(symbols + names + labels[0])
        file.write(b"\0" * (-file.tell() % 8))
        sections = file.tell()
        after = tables + len(symbols)
        rows = [
            (0, 0, 0, 0, 0, 0, 0, 0),
            (_PROGBITS, _ALLOC, start, size, 0, 0, align, 0),
            (_PROGBITS, 0, tables, 0, 0, 0, 1, 0),  # empty: the stack holds no code
            (_SYMTAB, 0, tables, len(symbols), 4, 1, 8, _SYMBOL.size),
            (_STRTAB, 0, after, len(names), 0, 0, 1, 0),
            (_STRTAB, 0, after + len(names), len(labels[0]), 0, 0, 1, 0),
        ]
        for label, (kind, flags, offset, length, link, info, aligned, entry) in zip(
            labels[1], rows
        ):
            file.write(
                _SECTION.pack(label, kind, flags, 0, offset, length, link, info, aligned, entry)
            )
        file.seek(0)
        file.write(_header(MACHINES[machine], sections, len(rows)))


def _header(machine: int, sections: int, count: int) -> bytes:
    """Of a relocatable file whose table of sections is at a place, the last for their names."""
    mark = b"\x7fELF" + bytes((2, 1, 1)) + b"\0" * 9  # 64 bits, little end first, version 1
    rest = struct.pack(
        "<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, sections, 0, _HEADER_BYTES, 0, 0,
        _SECTION.size, count, count - 1,
    )  # fmt: skip
    return mark + rest


def _symbols(places: Mapping[str, tuple[int, int]]) -> tuple[bytes, bytes]:
    """The table of symbols, and that of their names."""
    names, offsets = _strings(("", *places))
    rows = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    for offset, (place, size) in zip(offsets[1:], places.values()):
        rows.append(_SYMBOL.pack(offset, _GLOBAL_DATA, 0, _DATA_SECTION, place, size))
    return b"".join(rows), names


def _strings(words: tuple[str, ...]) -> tuple[bytes, list[int]]:
    """Words one after another, each ended by a zero, and where each begins."""
    offsets, content = [], bytearray()
    for word in words:
        offsets.append(len(content))
        content += word.encode() + b"\0"
    return bytes(content), offsets
