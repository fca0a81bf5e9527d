"""`tvm info`: what is installed, and what the cache holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvm.backend.llvm import cache, jit
from tvm.exec.cli import main


def test_it_tells_the_processor_and_the_cache(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    cache.store("ab" * 32, b"object")
    assert main(["info", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["cpu"] == jit.host_machine().cpu
    assert record["cache"]["files"] == 1
    assert main(["info"]) == 0
    assert str(tmp_path) in capsys.readouterr().out
    monkeypatch.setenv("TVM_CACHE", "0")
    assert main(["info"]) == 0
    assert "switched off" in capsys.readouterr().out
