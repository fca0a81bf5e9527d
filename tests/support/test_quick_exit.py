"""Processes that end at once: their exit codes, their words, and what was to be done at the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm.support.quick_exit import run_and_leave

pytestmark = pytest.mark.pure
HEAD = "import atexit, os, sys, threading, time\nfrom tvm.support.quick_exit import run_and_leave\n"


def ended(program: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", HEAD + program], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_what_was_to_be_done_at_the_end_is() -> None:
    program = """
class Held:
    def __del__(self):
        os.write(1, b"taken apart")

kept = Held()

def work():
    atexit.register(print, "at the end", end="")
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
    print("no new line", end=" ")
    return 3

sys.exit(run_and_leave(work))
"""
    code, out, err = ended(program)
    assert (code, err) == (3, "")
    assert out == "no new line thread\nat the end"


@pytest.mark.parametrize(("how", "code"), [("143", 143), ("None", 0), ("'words'", 1)])
def test_leaving_from_within(how: str, code: int) -> None:
    assert ended(f"run_and_leave(lambda: sys.exit({how}))")[0] == code


def test_errors_are_told() -> None:
    code, _, err = ended("run_and_leave(lambda: 1 // 0)")
    assert code == 1
    assert "ZeroDivisionError" in err


def test_traced_processes_end_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.getprofile", lambda: print)
    monkeypatch.setattr("atexit.register", lambda end: pytest.fail("it would end these tests"))
    assert run_and_leave(lambda: 4) == 4
