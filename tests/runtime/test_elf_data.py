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

from tvm.runtime.elf_data import MACHINES, write_data_object

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
