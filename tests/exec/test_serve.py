"""`tvm serve`: what it refuses, and what it serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.serve import small_models
from tvm.exec import cli

pytestmark = pytest.mark.cpu


def _refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["serve", *words]) == cli.MISTAKE
    return capsys.readouterr().err


def test_requests_that_cannot_be_served(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TVM_SERVE_KEY", raising=False)
    assert "no such file or folder" in _refused(capsys, str(tmp_path / "none"))
    assert "anybody could use the model" in _refused(capsys, str(tmp_path), "--host", "0.0.0.0")
    assert "found: --draft and --lookup" in _refused(
        capsys, str(tmp_path), "--draft", str(tmp_path), "--lookup"
    )
    assert "no file tokenizer.json" in _refused(capsys, str(tmp_path))


def test_a_model_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    config = {**small_models.CONFIGS["qwen2"], "num_hidden_layers": 1}
    folder = small_models.save(tmp_path / "little", config, small_models.weights(config))
    small_models.add_tokenizer(folder)
    seen: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: seen.update(given, app=app))
    assert cli.main(["serve", str(folder), "--port", "8765", "--lookup", "--batch", "2"]) == cli.OK
    assert (seen["host"], seen["port"]) == ("127.0.0.1", 8765)
    assert {route.path for route in seen["app"].routes} >= {"/v1/chat/completions", "/metrics"}
