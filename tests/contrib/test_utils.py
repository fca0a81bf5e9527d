"""Temporary folders and locks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tvm.contrib import utils

pytestmark = pytest.mark.pure


def test_a_folder_goes_with_its_object() -> None:
    folder = utils.tempdir()
    path = folder.path
    (folder / "a").write_text("x")
    assert folder.listdir() == ["a"]
    assert folder.relpath("a") == os.path.join(path, "a")
    del folder
    assert not os.path.exists(path)


def test_a_folder_goes_with_its_context(tmp_path: Path) -> None:
    with utils.tempdir(str(tmp_path / "own")) as folder:
        assert Path(folder.path).is_dir()
    assert not (tmp_path / "own").exists()


def test_folders_may_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(utils.TempDirectory, "_DEBUG_PARENT_DIR", None)
    with utils.TempDirectory.set_keep_for_debug():
        first, second = utils.tempdir(), utils.tempdir()
    kept = [first.path, second.path]
    del first, second
    assert all(os.path.isdir(path) for path in kept)
    assert os.path.dirname(kept[0]) == os.path.dirname(kept[1])


def test_no_folder_is_made_at_the_end_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils.TempDirectory, "TEMPDIRS", set())
    folder = utils.tempdir()
    path = folder.path
    utils.TempDirectory.remove_tempdirs()
    assert not os.path.exists(path)
    with pytest.raises(utils.DirectoryCreatedPastAtExit):
        utils.tempdir()


def test_locks(tmp_path: Path) -> None:
    lock = utils.filelock(str(tmp_path / "lock"))
    lock.release()
    lock.release()
    utils.filelock(str(tmp_path / "lock")).release()


def test_names() -> None:
    assert utils.is_source_path("a/b.cc")
    assert not utils.is_source_path("a/b.o")
    assert utils.which("no-such-program") is None
