"""Processes of their own: answers, refusals, crashes and time limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.backend.llvm.child import ask

pytestmark = pytest.mark.pure

PROGRAMS = {
    "echo": "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])",
    "refuse": "import sys; print('first'); print('no such thing', file=sys.stderr); sys.exit(1)",
    "crash": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "hang": "import time; time.sleep(600)",
    "silent": "import sys; sys.exit(3)",
}


@pytest.mark.parametrize(
    ("program", "content", "reason"),
    [
        ("echo", b"cba", ""),
        ("refuse", b"", "no such thing"),
        ("crash", b"", "LLVM ends of it with SIGSEGV"),
        ("hang", b"", "it takes LLVM more than 0.5 seconds"),
        ("silent", b"", "LLVM ends with code 3"),
    ],
)
def test_answers(
    program: str, content: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"child_{program}.py").write_text(PROGRAMS[program])
    monkeypatch.syspath_prepend(str(tmp_path))
    seconds = 0.5 if program == "hang" else None
    assert ask(f"child_{program}", [], b"abc", seconds) == (content, reason)
