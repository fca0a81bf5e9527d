"""Small helpers."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import tvm.testing

pytestmark = pytest.mark.pure


def test_truth_values() -> None:
    assert [tvm.testing.strtobool(v) for v in ("Yes", "1", "on", "n", "FALSE")] == [1, 1, 1, 0, 0]
    with pytest.raises(ValueError, match="found: 'perhaps'"):
        tvm.testing.strtobool("perhaps")


def test_values_pass_through() -> None:
    assert tvm.testing.identity_after("a", 0) == "a"
    with pytest.raises(SystemExit):
        tvm.testing.terminate_self()


def test_main_runs_the_tests_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "test_two.py"
    text = "import tvm.testing\ndef test_a(): pass\ndef test_b(): assert 0\n"
    file.write_text(f"{text}if __name__ == '__main__': tvm.testing.main()\n")
    done = subprocess.run(
        [sys.executable, str(file), "-p", "no:cacheprovider"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout


def test_the_request_hook_is_for_ci_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tests" / "scripts" / "request_hook"
    folder.mkdir(parents=True)
    (folder / "request_hook.py").write_text(
        "import os\ndef init():\n    os.environ['HOOK_OF_TESTS'] = 'installed'\n"
    )
    (tmp_path / "docs").mkdir()
    script = tmp_path / "docs" / "script.py"
    script.write_text("import tvm.testing\ntvm.testing.utils.install_request_hook(depth=2)\n")
    monkeypatch.setenv("HOOK_OF_TESTS", "missing")
    monkeypatch.delenv("CI", raising=False)
    runpy.run_path(str(script))
    assert os.environ["HOOK_OF_TESTS"] == "missing"
    monkeypatch.setenv("CI", "true")
    runpy.run_path(str(script))
    assert os.environ["HOOK_OF_TESTS"] == "installed"
    (folder / "request_hook.py").unlink()
    with pytest.raises(FileNotFoundError, match="install the hook"):
        runpy.run_path(str(script))
