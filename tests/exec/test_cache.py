"""`tvm cache`: shows what is there, and empties it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvm.backend.llvm import cache
from tvm.exec.cli import main


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TVM_CACHE", raising=False)
    cache.store("ab" * 32, b"object")
    cache.store_data("ab" * 32, [b"large", b"data"])


def test_it_shows_and_clears(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["cache", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["folder"], shown["files"], shown["enabled"]) == (str(tmp_path), 2, True)
    assert shown["bytes"] == sum(p.stat().st_size for p in tmp_path.glob("*/*"))
    assert main(["cache", "clear"]) == 0
    assert "2 files" in capsys.readouterr().out
    assert not list(tmp_path.glob("*/*"))


def test_only_known_actions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "burn"]) == 1
    assert "burn" in capsys.readouterr().err
