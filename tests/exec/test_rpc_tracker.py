"""The tracker's command line; tests/exec/test_rpc_server.py runs it."""

from __future__ import annotations

import socket

import pytest

from tvm.exec import rpc_tracker

pytestmark = pytest.mark.cpu


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(SystemExit, match="no free port"):
            rpc_tracker.main(["--host=127.0.0.1", f"--port={port}", f"--port-end={port}"])
