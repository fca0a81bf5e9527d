"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.runtime.files import FileError, draft_of, read_regular, write_beside

pytestmark = pytest.mark.pure


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_beside(path, b"one")
    write_beside(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")


    def fail() -> None:
        with draft_of(path) as draft:
            draft.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_that_are_missing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "f"
    with pytest.raises(FileError) as caught:
        write_beside(path, b"")
    assert str(caught.value) == (
        f"write {str(path)!r}\n  found: No such file or directory\n  where: {path.parent}\n"
        "  legal: a file name in a folder that exists and may be written to"
    )
    assert isinstance(caught.value, (TVMError, OSError))


def test_a_folder_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(FileError, match="directory"):
        write_beside(tmp_path / "f", b"")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file") == read_regular(tmp_path / "link") == b"content"
    with pytest.raises(OSError, match="link"):
        read_regular(tmp_path / "link", follow_links=False)
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(FileError, match="no regular file"):
            read_regular(name)
