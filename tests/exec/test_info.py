"""`tvm info`: what is installed, and what the cache holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvm.backend.llvm import cache, jit
from tvm.exec.cli import main
from tvm.report import roof_programs
from tvm.report.words import Rate, Roofs


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


def test_it_tells_machine_roofs_and_backends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    made = Roofs("cpu", 1, {"float32": Rate(10.0, 10.0), "int8": Rate(40.0, 40.0)},
                 {"L2": Rate(4.0, 3.0), "memory": Rate(1.0, 1.0)})  # fmt: skip
    monkeypatch.setattr(roof_programs, "measured", lambda *_: made)
    assert main(["info"]) == 0
    assert "not measured yet: tvm info --measure" in capsys.readouterr().out
    assert main(["info", "--measure", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["roofs"]["gbytes"]["L2"] == {"all": 4.0, "one": 3.0}
    assert record["backends"]["llvm"] is True
    assert record["backends"]["cuda"] is None
    assert record["machine"]["vector_bits"] >= 128
    assert main(["info"]) == 0
    told = capsys.readouterr().out
    assert "float32 10 GFLOP/s (10 with one thread)" in told
    assert "int8 40 GFLOP/s" in told
    assert "L2 4 (3), memory 1 (1) GB/s" in told
