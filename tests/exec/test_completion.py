from __future__ import annotations

import shutil
import subprocess

import pytest

from tvm.exec.cli import COMMANDS, main
from tvm.exec.completion import SHELLS, options

pytestmark = pytest.mark.cpu


def test_all_commands_and_their_options() -> None:
    words = options()
    assert list(words) == list(COMMANDS)
    assert {"--out", "--json", "--records"} <= set(words["view"])
    assert "--vs" in words["bench"]


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_take_what_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "explain" in script
    found = shutil.which(shell)
    if found is not None:
        subprocess.run([found, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "answer"),
    [("tvm exp", "explain"), ("tvm view m.onnx --o", "--out"), ("tvm completion z", "zsh")],
)
def test_bash_completes(line: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    words = line.split()
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tvm; echo ${{COMPREPLY[*]}}"
    script = capsys.readouterr().out + ask
    done = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=True)
    assert done.stdout.split() == [answer]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize(
    ("line", "answer"),
    [("tvm exp", "explain"), ("tvm view --ou", "--out"), ("tvm cache cl", "clear")],
)
def test_fish_completes(line: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    script = capsys.readouterr().out + f"\ncomplete -C '{line}'\n"
    done = subprocess.run(["fish"], input=script, text=True, capture_output=True, check=True)
    assert done.stdout.split() == [answer]
