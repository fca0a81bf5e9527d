"""Dark and light terminals, by what they say."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading

import pytest

from tvm.script.terminal_theme import background_is_dark, is_dark

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("told", "dark"), [("15;0", True), ("0;15", False), ("0;default;15", False), ("7;8", True)]
)
def test_the_environment_tells(monkeypatch: pytest.MonkeyPatch, told: str, dark: bool) -> None:
    monkeypatch.setenv("COLORFGBG", told)
    is_dark.cache_clear()
    assert is_dark() is dark
    is_dark.cache_clear()


def test_where_no_terminal_is_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    is_dark.cache_clear()
    assert is_dark() is None
    is_dark.cache_clear()


@pytest.mark.parametrize(
    ("answer", "dark"),
    [
        (b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07\x1b[?65;1c", True),
        (b"\x1b]11;rgb:fd/f6/e3\x1b\\", False),
        (b"\x1b]11;rgba:0000/0000/0000/ffff\x07", True),
        (b"\x1b[?1;2c", None),
        (b"", None),
    ],
)
def test_answers_of_terminals(answer: bytes, dark: bool | None) -> None:
    assert background_is_dark(answer) is dark


@pytest.mark.parametrize(
    ("answer", "told"), [(b"\x1b]11;rgb:0000/0000/0000\x07\x1b[?62c", "True"), (b"", "None")]
)
def test_a_terminal_is_asked(answer: bytes, told: str) -> None:
    ours, theirs = pty.openpty()
    seen = b""

    def terminal() -> None:
        nonlocal seen
        try:
            while part := os.read(ours, 1024):
                seen += part
                if b"]11;?" in part and answer:
                    os.write(ours, answer)
        except OSError:
            pass

    threading.Thread(target=terminal, daemon=True).start()
    script = (
        "import sys; from tvm.script.terminal_theme import is_dark as f\n"
        "print(f(), file=sys.stderr)"
    )
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLORFGBG", None)
    done = subprocess.run(
        [sys.executable, "-c", script], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
        text=True, env=environment, check=True,
    )  # fmt: skip
    os.close(theirs)
    assert done.stderr.strip() == told
    assert b"]11;?" in seen
