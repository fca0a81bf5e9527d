"""Temporary folders: they name their owner, and those of dead owners go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tvm.support import scratch as folders
from tvm.support.scratch import is_owner_alive, owner_tag, scratch, scratch_folder

pytestmark = pytest.mark.pure


def tag_of_the_dead() -> str:
    code = "from tvm.support.scratch import owner_tag; print(owner_tag())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_owners_are_known_by_number_and_begin() -> None:
    assert is_owner_alive(owner_tag())
    number, began, space = owner_tag().split("-")
    assert is_owner_alive(f"{number}-0-{space}") or began == "0"
    if began != "0":
        assert not is_owner_alive(f"{number}-{int(began) + 1}-{space}")
    assert not is_owner_alive(tag_of_the_dead())
    assert is_owner_alive(f"1-1-{'0' * 9}")  # of another machine: who knows


def test_folders_of_the_dead_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(folders, "_swept", set())
    left = tmp_path / f"tvm-build-{tag_of_the_dead()}-abc"
    others = [tmp_path / f"tvm-build-{owner_tag()}-abc", tmp_path / "tvm-build-abc",
              tmp_path / "somebody's"]  # fmt: skip
    for folder in (left, *others):
        folder.mkdir()
        (folder / "file").write_text("x")
    made = Path(scratch_folder("tvm-build-", owner=os.getppid()))
    assert made.name.startswith(f"tvm-build-{os.getppid()}-")
    assert not left.exists()
    assert all(folder.exists() for folder in others)
    with scratch("tvm-load-") as name:
        assert owner_tag() in name
    assert not Path(name).exists()


def test_folders_elsewhere_are_swept_too(tmp_path: Path) -> None:
    left = tmp_path / f".tvm-draft-{tag_of_the_dead()}-abc"
    left.mkdir()
    with scratch(".tvm-draft-", tmp_path) as name:
        assert list(tmp_path.iterdir()) == [Path(name)]
    assert list(tmp_path.iterdir()) == []
