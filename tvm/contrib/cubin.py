"""What a cubin says of its kernels: registers, shared memory, and memory that registers spill to.

A cubin is an ELF file. `.nv.info` has the registers of each kernel and the bytes of its stack; a
section is as large as its shared memory.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from tvm.error import TVMError, message

_SHT_NOBITS: Final = 8
_SHT_SYMTAB: Final = 2
_FRAME_SIZE: Final = 0x11  # EIATTR_FRAME_SIZE: the number of a symbol, and bytes
_REGISTERS: Final = 0x2F  # EIATTR_REGCOUNT: the number of a symbol, and registers
_RESERVED: Final = ".nv.reservedSmem"  # a symbol of files whose sections count what blocks reserve
_SIZED: Final = 4  # EIFMT_SVAL: two bytes of size, and so much behind


RESERVED: Final = 1024  # bytes of a block's shared memory that are the system's


class Resources(NamedTuple):
    """What a thread and a block of a kernel take."""

    registers: int
    shared: int  # bytes of a block, of which the size is known
    stack: int  # bytes of a thread: arrays that are no registers, and spills


class _Section(NamedTuple):
    name: str
    kind: int
    data: bytes
    size: int


def kernel_resources(cubin: bytes) -> dict[str, Resources]:
    """The resources of each kernel of a cubin; TVMError for other bytes."""
    try:
        sections = _sections(cubin)
    except (struct.error, IndexError, ValueError) as err:
        raise TVMError(
            message("read a cubin", found=f"{len(cubin)} other bytes: {err}", legal="a cubin")
        ) from err
    by_name = {section.name: section for section in sections}
    told = _told(sections)
    reserved = _RESERVED.encode() in cubin
    found = {}
    for name in by_name:
        if name.startswith(".text."):
            kernel = name.removeprefix(".text.")
            shared = by_name.get(f".nv.shared.{kernel}")
            facts = told.get(kernel, {})
            nbytes = 0 if shared is None else shared.size
            found[kernel] = Resources(
                facts.get(_REGISTERS, 0), nbytes - RESERVED if reserved and nbytes else nbytes,
                facts.get(_FRAME_SIZE, 0),
            )  # fmt: skip
    return found


def _sections(elf: bytes) -> list[_Section]:
    if elf[:5] != b"\x7fELF\x02":
        raise ValueError("no ELF of 64 bits")
    start = struct.unpack_from("<Q", elf, 40)[0]
    size, count, names_at = struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, start + n * size) for n in range(count)]
    names = heads[names_at]
    table = elf[names[4] : names[4] + names[5]]
    return [
        _Section(
            table[head[0] : table.index(b"\0", head[0])].decode(),
            head[1],
            b"" if head[1] == _SHT_NOBITS else elf[head[4] : head[4] + head[5]],
            head[5],
        )
        for head in heads
    ]


def _told(sections: list[_Section]) -> dict[str, dict[int, int]]:
    """Facts by kernel and attribute."""
    symbols = next((s.data for s in sections if s.kind == _SHT_SYMTAB), b"")
    texts = next((s.data for s in sections if s.name == ".strtab"), b"")
    info = next((s.data for s in sections if s.name == ".nv.info"), b"")
    found: dict[str, dict[int, int]] = {}
    offset = 0
    while offset + 4 <= len(info):
        form, attr, size = struct.unpack_from("<BBH", info, offset)
        offset += 4
        if form != _SIZED:
            continue
        if attr in (_FRAME_SIZE, _REGISTERS):
            number, value = struct.unpack_from("<II", info, offset)
            at = struct.unpack_from("<I", symbols, 24 * number)[0]
            name = texts[at : texts.index(b"\0", at)].decode()
            found.setdefault(name, {})[attr] = value
        offset += size
    return found
