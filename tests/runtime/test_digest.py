"""Exported files say whether they are as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.error import TVMError
from tvm.runtime.digest import MARK, check_seal, check_sealed, seal, sealed
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] * T.float32(2)


@pytest.mark.parametrize("suffix", [".so", ".o", ".tar"])
def test_a_changed_byte_is_found_before_anything_runs(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"lib{suffix}"
    tvm.compile(twice, target="llvm").export_library(str(path))
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tvm.runtime.load_module(str(path))["twice"](a, b)
    assert (b == 2 * a).all()
    content = path.read_bytes()
    assert MARK in content[-100:]
    for place in range(0, len(content) - 100, len(content) // 40):
        changed = bytearray(content)
        changed[place] ^= 4
        path.write_bytes(changed)
        with pytest.raises(TVMError, match="found: a damaged file: its content does not fit"):
            tvm.runtime.load_module(str(path))


def test_files_without_a_seal(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(b"")
    assert not check_seal(path)
    path.write_bytes(b"x" * 500)
    seal(path)  # no file that could have one
    assert not check_seal(path)
    path.write_bytes(sealed(b"x" * 500))
    assert check_seal(path)
    path.write_bytes(b"\x7fELF" + bytes(3_000_000))
    seal(path)
    assert check_seal(path)


def test_a_seal_with_bytes_within_or_behind_it_is_damage(tmp_path: Path) -> None:
    path, content = tmp_path / "f", sealed(b"\x7fELF" + bytes(500))
    for changed in (content + b"f2d0\n", content[:-20] + b"d7d8" + content[-20:], content[:-3]):
        path.write_bytes(changed)
        with pytest.raises(TVMError, match="a damaged file"):
            check_seal(path)
        with pytest.raises(TVMError, match="a damaged file"):
            check_sealed(changed, path)
