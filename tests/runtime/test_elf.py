"""Libraries that were cut short are refused before the loader maps them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.runtime.elf import check_whole, said_length

pytestmark = pytest.mark.pure

SEGMENT_END = 400
TABLE_END = 500


def elf(bits: int, order: str) -> bytes:
    """A header, one segment header behind it, and a section table that ends at TABLE_END."""
    head = b"\x7fELF" + bytes([bits // 32, 1 if order == "<" else 2]) + bytes(10)
    size, segment = (64, 56) if bits == 64 else (52, 32)
    address = "Q" if bits == 64 else "I"
    head += struct.pack(f"{order}HHI{address}", 3, 62, 1, 0)
    head += struct.pack(
        f"{order}{address}{address}IHHHHH", size, TABLE_END - 2 * 64, 0, size, segment, 1, 64, 2
    )
    head += struct.pack(f"{order}H", 0)
    assert len(head) == size
    if bits == 64:
        return head + struct.pack(f"{order}IIQQQQQQ", 1, 5, 100, 0, 0, SEGMENT_END - 100, 0, 0)
    return head + struct.pack(f"{order}IIIIIIII", 1, 100, 0, 0, SEGMENT_END - 100, 0, 5, 0)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bits", [32, 64])
def test_length_of_both_classes_and_orders(bits: int, order: str, tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(elf(bits, order).ljust(TABLE_END, b"\0"))
    assert said_length(str(path)) == TABLE_END
    check_whole(str(path))
    path.write_bytes(elf(bits, order).ljust(TABLE_END - 1, b"\0"))
    with pytest.raises(TVMError, match="499 bytes of a library of 500: it is cut short"):
        check_whole(str(path))


@pytest.mark.parametrize("length", [5, 6, 40, 63, 70])
def test_cut_within_the_headers(length: int, tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(elf(64, "<")[:length])
    if length < 6:
        check_whole(str(path))          # too short to be taken for one: the loader says so
    else:
        with pytest.raises(TVMError, match="it is cut short"):
            check_whole(str(path))


def test_other_kinds_of_files_are_left_to_the_loader(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(b"\xcf\xfa\xed\xfe, the mark of macOS")
    check_whole(str(path))
