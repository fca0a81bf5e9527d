"""The compile cache: hits, switches, damage, bounds, many writers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tvm.backend.llvm import cache, jit

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TVM_CACHE", raising=False)
    return tmp_path


def test_what_is_stored_is_found() -> None:
    key = cache.key_of(["text", "cpu"])
    assert cache.load(key) is None
    cache.store(key, b"object")
    assert cache.load(key) == b"object"


def test_keys_depend_on_each_part_and_their_borders() -> None:
    keys = {cache.key_of(p) for p in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""])}
    assert len(keys) == 4


def test_the_switch(monkeypatch: pytest.MonkeyPatch, own_folder: Path) -> None:
    monkeypatch.setenv("TVM_CACHE", "0")
    cache.store("ab" * 32, b"object")
    assert cache.load("ab" * 32) is None
    assert not list(own_folder.iterdir())


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_damaged_entries_count_as_missing(damage: bytes | None, own_folder: Path) -> None:
    key = cache.key_of(["x"])
    cache.store(key, b"object" * 100)
    (path,) = own_folder.glob("*/*.obj")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"?" if damage is None else damage)
    assert cache.load(key) is None
    cache.store(key, b"again")
    assert cache.load(key) == b"again"


def test_the_oldest_entries_go_first(own_folder: Path) -> None:
    for n in range(4):
        cache.store(cache.key_of([str(n)]), bytes(1000))
    for n in range(4):
        path = own_folder / cache.key_of([str(n)])[:2] / (cache.key_of([str(n)]) + ".obj")
        os.utime(path, (n, n))
    cache.load(cache.key_of(["0"]))  # used just now
    cache.prune(2100)
    kept = [n for n in range(4) if cache.load(cache.key_of([str(n)])) is not None]
    assert kept == [0, 3]
    cache.clear()
    assert not list(own_folder.glob("*/*.obj"))


def test_a_folder_that_cannot_be_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("TVM_CACHE_DIR", str(file))
    cache.store("cd" * 32, b"object")
    assert cache.load("cd" * 32) is None


def test_many_writers_leave_one_whole_entry(own_folder: Path) -> None:
    program = (
        "from tvm.backend.llvm import cache\n"
        "for _ in range(50): cache.store('ef' * 32, b'content' * 1000)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [w.wait() for w in writers] == [0, 0]
    assert cache.load("ef" * 32) == b"content" * 1000
    assert [p.suffix for p in own_folder.glob("*/*")] == [".obj"]


def test_the_second_compilation_is_a_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "define i32 @f() {\n  ret i32 42\n}\n"
    first = jit.emit_object(text, jit.host_machine())
    monkeypatch.setattr(jit, "emit_here", lambda *_: pytest.fail("compiled again"))
    assert jit.emit_object(text, jit.host_machine()) == first


def test_what_a_writer_left_behind_goes_too(own_folder: Path) -> None:
    cache.store("ab" * 32, b"object")
    old, new = (own_folder / "ab" / f"{name}.part" for name in ("old", "new"))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.prune()
    assert not old.exists()
    assert new.exists()
    assert cache.load("ab" * 32) == b"object"


def test_a_limit_that_is_no_number_is_left_aside(
    monkeypatch: pytest.MonkeyPatch, own_folder: Path
) -> None:
    monkeypatch.setenv("TVM_CACHE_MB", "plenty")
    cache.store("ab" * 32, b"object")
    cache.prune()
    assert cache.load("ab" * 32) == b"object"


def test_entries_that_are_no_files_count_as_missing(own_folder: Path) -> None:
    key = cache.key_of(["x"])
    cache.store(key, b"object")
    (path,) = own_folder.glob("*/*.obj")
    path.rename(own_folder / "elsewhere")
    path.symlink_to(own_folder / "elsewhere")
    assert cache.load(key) is None
    path.unlink()
    os.mkfifo(path)
    assert cache.load(key) is None
    cache.store(key, b"object")
    assert cache.load(key) == b"object"
