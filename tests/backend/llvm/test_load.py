"""Loading objects and archives: damaged ones are refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.runtime.test_export import program
from tvm.error import TVMError
from tvm.runtime import load_module, load_static_library

pytestmark = pytest.mark.cpu


def test_archives_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    path.write_bytes(b"not an archive")
    with pytest.raises(TVMError, match="a damaged archive"):
        load_module(path)


def test_archives_without_a_description_and_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("notes.txt"), io.BytesIO())
    with pytest.raises(TVMError, match=r"a damaged archive: 'artefact\.json'"):
        load_module(path)


def test_truncated_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    program().export_library(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(TVMError, match="load_module"):
        load_module(path)


def test_objects_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.o"
    path.write_bytes(b"not an object")
    with pytest.raises(TVMError, match="legal: an object for this machine"):
        load_module(path)


def test_static_libraries_name_their_functions(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    program().export_library(path)
    assert load_static_library(str(path), ["f"]).implements_function("f")
    with pytest.raises(ValueError, match="found: no function g"):
        load_static_library(str(path), ["f", "g"])
