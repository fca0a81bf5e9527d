"""A library as head, constants of the kept model, and tail; damage of one counts as none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tvm.backend.llvm import cache
from tvm.exec import kept_library
from tvm.support.digest import content_digest

DATA = bytes(range(1, 251)) + b"\0" * 6 + bytes(range(100, 164))
TOLD: dict[str, object] = {"functions": ["main"]}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file around the data of a model in the cache: 250 bytes, and from 256 on 64."""
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_library, "_SMALL", 0)
    places = [[0, 250, "int8", [250], content_digest(DATA[:250])],
              [256, 64, "int8", [64], content_digest(DATA[256:])]]  # fmt: skip
    assert cache.store_data("model", [DATA])
    cache.store("model", json.dumps({"places": places}).encode())
    path = tmp_path / "made.so"
    path.write_bytes(b"head" + DATA + b"tail")
    path.chmod(0o750)
    return path


def test_the_file_is_written_again(library: Path) -> None:
    kept_library.keep("library", library, "model", ["takes x"], TOLD)
    found = kept_library.find("library")
    assert found is not None
    assert (bytes(found.head), bytes(found.data), bytes(found.tail)) == (b"head", DATA, b"tail")
    assert (found.lines, found.told) == (["takes x"], TOLD)
    other = library.with_name("other.so")
    found.write(other)
    assert other.read_bytes() == library.read_bytes()
    assert os.access(other, os.X_OK)


@pytest.mark.parametrize("suffix", ["data", "obj"])
def test_damage_counts_as_none(library: Path, suffix: str) -> None:
    kept_library.keep("library", library, "model", [], TOLD)
    for entry in (library.parent / "cache").rglob(f"*.{suffix}"):
        entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    assert kept_library.find("library") is None


def test_small_files_are_kept_as_they_are(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_library, "_SMALL", 1 << 20)
    kept_library.keep("library", library, "model", [], TOLD)
    found = kept_library.find("library")
    assert found is not None
    assert bytes(found.head) == library.read_bytes()
    assert not found.data


def test_large_files_without_the_constants_are_not_kept(library: Path) -> None:
    library.write_bytes(b"head" + DATA[:-1] + bytes([DATA[-1] ^ 1]) + b"tail")
    kept_library.keep("library", library, "model", [], TOLD)
    kept_library.keep("library", library, "another model", [], TOLD)
    assert kept_library.find("library") is None
