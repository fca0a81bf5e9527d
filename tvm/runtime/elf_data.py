"""Data as an object file of Linux, written from where it lies: no assembler copies it.

    header | .rodata: the pieces, each at an aligned offset | symbols and names | table of sections

Of much data no linker makes copies either: the object only reserves memory (`apart`), a script puts
that behind all other sections, and `fill_data` adds the bytes to the end of the linked library.

The layout is that of the System V ABI ("Tool Interface Standard, Executable and Linking Format",
1995), in its form of 64 bits, little end first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

MACHINES: Final = {"x86_64": 62, "aarch64": 183}  # those whose data needs no flags
_HEADER_BYTES: Final = 64
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_PROGBITS, _SYMTAB, _STRTAB, _NOBITS = 1, 2, 3, 8
_ALLOC: Final = 2  # the section is part of the program's memory
_GLOBAL_DATA: Final = 0x11
_RESERVED: Final = ".tvm_data"
_NAMES: Final = (".note.GNU-stack", ".symtab", ".strtab", ".shstrtab")
_DATA_SECTION: Final = 1
# A segment of its own: behind a page that nothing lies in (the linker starts a new segment there).
SCRIPT: Final = f"""SECTIONS {{
  . = ALIGN(CONSTANT(MAXPAGESIZE)) + CONSTANT(MAXPAGESIZE);
  {_RESERVED} : {{ *({_RESERVED}) }}
}} INSERT AFTER .bss;
"""
_TABLES: Final = struct.Struct("<QQ6xHHHH")  # from byte 32 of the header: of both tables
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_LOAD: Final = 1


def write_data_object(
    path: Path, machine: str, data: Mapping[str, Any], align: int, *, apart: bool = False
) -> None:
    """A relocatable object with read-only `data`, flat buffers of bytes by symbol.

    `machine` is one of MACHINES; each symbol lies at a multiple of `align`. With `apart` the object
    has the symbols and no bytes: it is linked with SCRIPT, and `fill_data` brings them.
    """
    with path.open("wb") as file:
        file.write(b"\0" * -(-_HEADER_BYTES // align) * align)
        start = file.tell()
        if not apart:
            _write_pieces(file, data, align)
        layout, size = _layout(data, align)
        symbols, names = _symbols(layout)
        labels = _strings(("", _RESERVED if apart else ".rodata", *_NAMES))
        file.write(b"\0" * (-file.tell() % 8))
        tables = file.tell()
        file.write(symbols + names + labels[0])
        file.write(b"\0" * (-file.tell() % 8))
        sections = file.tell()
        after = tables + len(symbols)
        rows = [
            (0, 0, 0, 0, 0, 0, 0, 0),
            (_NOBITS if apart else _PROGBITS, _ALLOC, start, size, 0, 0, align, 0),
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


def fill_data(path: Path, data: Mapping[str, Any], align: int) -> bool:
    """Add the bytes to a library in which an object made `apart` has reserved memory for them.

    False, and the file as it was, where the linker did not give them a segment of their own.
    """
    _, size = _layout(data, align)
    with path.open("r+b") as file:
        head = file.read(_HEADER_BYTES)
        segments, sections, entry, count, row, rows = _TABLES.unpack_from(head, 32)
        if entry != _SEGMENT.size or row != _SECTION.size:
            return False
        found = _find(file, _SEGMENT, segments, count, lambda s: s[0] == _LOAD and s[5] == 0)
        mine = _find(file, _SECTION, sections, rows, lambda s: s[1] == _NOBITS and s[5] == size)
        if found is None or mine is None:
            return False
        (at, segment), (section_at, section) = found, mine
        kind, flags, _, address, physical, _, in_memory, page = segment
        if section[3] != address or in_memory != size:
            return False
        end = file.seek(0, 2)
        # a page of the file is a page of memory: both lie alike within theirs
        start = end + (address - end) % page
        file.write(b"\0" * (start - end))
        _write_pieces(file, data, align)
        file.seek(at)
        file.write(_SEGMENT.pack(kind, flags, start, address, physical, size, size, page))
        file.seek(section_at)
        file.write(_SECTION.pack(section[0], _PROGBITS, *section[2:4], start, *section[5:]))
    return True


def _layout(data: Mapping[str, Any], align: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Where each piece lies and how long it is; the size of all."""
    layout: dict[str, tuple[int, int]] = {}
    end = 0
    for name, content in data.items():
        end += -end % align
        layout[name] = (end, memoryview(content).nbytes)
        end += layout[name][1]
    return layout, end


def _write_pieces(file: BinaryIO, data: Mapping[str, Any], align: int) -> None:
    end = 0
    for content in data.values():
        view = memoryview(content).cast("B")
        file.write(b"\0" * (-end % align))
        file.write(view)
        end += -end % align + view.nbytes


def _find(
    file: BinaryIO, form: struct.Struct, start: int, count: int, fits: Callable[[Any], bool]
) -> tuple[int, tuple[int, ...]] | None:
    """The only row of a table that fits, and where it lies in the file; None of none or several."""
    file.seek(start)
    table = file.read(count * form.size)
    fitting = [(i, row) for i, row in enumerate(form.iter_unpack(table)) if fits(row)]
    return (start + fitting[0][0] * form.size, fitting[0][1]) if len(fitting) == 1 else None


def _header(machine: int, sections: int, count: int) -> bytes:
    """Of a relocatable file whose table of sections is at an offset, the last for their names."""
    mark = b"\x7fELF" + bytes((2, 1, 1)) + b"\0" * 9  # 64 bits, little end first, version 1
    rest = struct.pack(
        "<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, sections, 0, _HEADER_BYTES, 0, 0,
        _SECTION.size, count, count - 1,
    )  # fmt: skip
    return mark + rest


def _symbols(layout: Mapping[str, tuple[int, int]]) -> tuple[bytes, bytes]:
    """The table of symbols, and that of their names."""
    names, offsets = _strings(("", *layout))
    rows = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    for offset, (start, size) in zip(offsets[1:], layout.values()):
        rows.append(_SYMBOL.pack(offset, _GLOBAL_DATA, 0, _DATA_SECTION, start, size))
    return b"".join(rows), names


def _strings(words: tuple[str, ...]) -> tuple[bytes, list[int]]:
    """Words one after another, each ended by a zero, and where each begins."""
    offsets, content = [], bytearray()
    for word in words:
        offsets.append(len(content))
        content += word.encode() + b"\0"
    return bytes(content), offsets
