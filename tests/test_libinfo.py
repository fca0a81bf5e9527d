"""Where libraries and headers lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tvm import libinfo


def test_the_library_and_its_headers() -> None:
    (path,) = libinfo.find_lib_path() or ["none"]
    assert os.path.exists(path)
    assert libinfo.find_lib_path(os.path.basename(path)) == [path]
    folders = libinfo.find_include_path() or []
    assert any((Path(folder) / "tvm" / "ffi" / "c_api.h").exists() for folder in folders)


def test_names_and_folders_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.so").write_bytes(b"")
    assert libinfo.find_lib_path("mine.so", str(tmp_path)) == [str(tmp_path / "mine.so")]
    assert libinfo.find_lib_path(["none.so"], [str(tmp_path)], optional=True) is None
    with pytest.raises(RuntimeError, match=r"Cannot find the files none\.h"):
        libinfo.find_include_path("none.h")


def test_variables_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_LIBRARY_PATH", f"{tmp_path}:/none")
    assert libinfo.split_env_var("TVM_LIBRARY_PATH", ":") == [str(tmp_path), "/none"]
    assert libinfo.get_dll_directories()[0] == os.path.realpath(tmp_path)
    monkeypatch.delenv("TVM_LIBRARY_PATH")
    assert libinfo.split_env_var("TVM_LIBRARY_PATH", ":") == []
