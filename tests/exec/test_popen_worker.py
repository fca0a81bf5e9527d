"""The worker as a process of its own, on pipes of this one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tvm.contrib import popen_worker
from tvm.exec import popen_worker as command

pytestmark = pytest.mark.pure


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are handed on by number")
def test_ends_with_its_pipe() -> None:
    assert command.main is popen_worker.main
    ours, theirs = os.pipe(), os.pipe()
    worker = subprocess.Popen(
        [sys.executable, "-m", "tvm.exec.popen_worker", str(ours[0]), str(theirs[1])],
        pass_fds=(ours[0], theirs[1]),
    )
    for end in (ours[0], theirs[1], ours[1]):
        os.close(end)
    assert worker.wait(60) in (0, 1)
    assert os.read(theirs[0], 1) == b""
    os.close(theirs[0])
