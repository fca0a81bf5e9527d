"""Data objects: what the system's linker and readers make of them."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tvm.runtime.elf import said_length
from tvm.runtime.elf_data import MACHINES, SCRIPT, fill_data, write_data_object

linked = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in MACHINES or shutil.which("cc") is None,
    reason="objects of this form are linked on Linux",
)


@linked
@pytest.mark.parametrize("align", [16, 64, 4096])
def test_linked_data_is_as_it_was(tmp_path: Path, align: int) -> None:
    rng = np.random.default_rng(0)
    data = {f"piece_{n}": rng.bytes(n) for n in (1, 7, 64, 65, 0, 5000)}
    write_data_object(tmp_path / "d.o", platform.machine(), data, align)
    out = tmp_path / "d.so"
    subprocess.run(["cc", "-shared", "-o", out, tmp_path / "d.o"], check=True)
    library = ctypes.CDLL(str(out))
    for name, content in data.items():
        place = ctypes.addressof(ctypes.c_char.in_dll(library, name))
        assert place % align == 0
        assert ctypes.string_at(place, len(content)) == content


def test_arrays_of_several_bytes_are_taken_as_they_lie(tmp_path: Path) -> None:
    values = np.arange(9, dtype="int32")
    write_data_object(tmp_path / "d.o", "aarch64", {"numbers": values.data}, 64)
    content = (tmp_path / "d.o").read_bytes()
    assert content[64:100] == values.tobytes()
    assert int.from_bytes(content[18:20], "little") == MACHINES["aarch64"]


def linked_apart(folder: Path, data: dict[str, bytes], align: int, script: str = SCRIPT) -> Path:
    """A library whose linker has seen the names of the data and not the bytes."""
    (folder / "s.ld").write_text(script)
    (folder / "c.c").write_text("static float kept[999]; float next(void) { return kept[7]++; }\n")
    write_data_object(folder / "d.o", platform.machine(), data, align, apart=True)
    out = folder / "d.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", out, folder / "c.c", folder / "d.o",
         f"-Wl,-T,{folder / 's.ld'}"],
        check=True,
    )  # fmt: skip
    return out


@linked
@pytest.mark.parametrize("align", [16, 64, 4096])
def test_data_added_to_a_linked_library_is_as_it_was(tmp_path: Path, align: int) -> None:
    rng = np.random.default_rng(0)
    data = {f"piece_{n}": rng.bytes(n) for n in (1, 7, 64, 65, 0, 50_000)}
    out = linked_apart(tmp_path, data, align)
    assert out.stat().st_size < 50_000
    assert fill_data(out, data, align)
    assert said_length(str(out)) == out.stat().st_size      # cut short, it is refused
    if shutil.which("strip"):
        subprocess.run(["strip", out, "-o", tmp_path / "small.so"], check=True)
        out = tmp_path / "small.so"
    library = ctypes.CDLL(str(out))
    for name, content in data.items():
        place = ctypes.addressof(ctypes.c_char.in_dll(library, name))
        assert place % align == 0
        assert ctypes.string_at(place, len(content)) == content
    library.next.restype = ctypes.c_float
    assert [library.next() for _ in range(3)] == [0, 1, 2]


@linked
def test_data_without_a_segment_of_its_own_is_not_added(tmp_path: Path) -> None:
    data = {"piece": b"x" * 50_000}
    inside = "SECTIONS { .tvm_data : { *(.tvm_data) } } INSERT AFTER .bss;\n"
    out = linked_apart(tmp_path, data, 64, inside)
    before = out.read_bytes()
    assert not fill_data(out, data, 64)
    assert out.read_bytes() == before
