"""The proxy's command line."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tvm import rpc
from tvm.exec import rpc_proxy

pytestmark = pytest.mark.cpu


def test_from_the_shell() -> None:
    command = [sys.executable, "-m", "tvm.exec.rpc_proxy", "--port=9500", "--port-end=9900"]
    proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert proxy.stdout is not None
        port = int(proxy.stdout.readline().rpartition(":")[2])
        server = rpc.Server("127.0.0.1", port, is_proxy=True, key="board", silent=True)
        remote = rpc.connect("127.0.0.1", port, "board")
        assert remote.get_function("rpc.test.addone")(1) == 2
        server.terminate()
    finally:
        proxy.terminate()
        proxy.wait()


def test_what_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(SystemExit, match="no free port"):
            rpc_proxy.main(["--host=127.0.0.1", f"--port={port}", f"--port-end={port}"])
    with pytest.raises(SystemExit, match="HOST:PORT"):
        rpc_proxy.main(["--tracker=nowhere"])
