"""A process ends with the one that started it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tvm.support.scratch import is_owner_alive, owner_tag

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(sys.platform != "linux", reason="the system call is Linux's"),
]

CHILD = (
    "import os, time\n"
    "from tvm.support.parent import end_with_parent\n"
    "end_with_parent()\n"
    "print(os.getpid(), flush=True)\n"
    "time.sleep(600)\n"
)
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


def test_it_is_killed_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    tag = owner_tag(child)
    assert is_owner_alive(tag)
    parent.kill()
    parent.wait()
    for _ in range(1000):  # the system takes its time
        if not is_owner_alive(tag):
            break
        time.sleep(0.02)
    assert not is_owner_alive(tag)
    parent.stdout.close()
