"""Processes that serve; they end with whoever started them."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tvm.error import RPCError
from tvm.rpc.processes import Process

pytestmark = pytest.mark.cpu
ORPHAN = """
import os
from tvm import rpc
server = rpc.Server("127.0.0.1", silent=True)
print(server.proc._process.pid, flush=True)
os._exit(0)
"""


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_server_whose_owner_is_gone_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    for _ in range(12000):
        if not _runs(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the server still runs")


def test_what_cannot_start() -> None:
    with pytest.raises(RPCError, match="did not start"):
        Process("tvm.rpc.no_such_module", {}, silent=True)
