"""`python -m tvm.exec.rpc_server` and its tracker, as processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm import rpc
from tvm.exec import rpc_server

pytestmark = pytest.mark.cpu


def started(module: str, *options: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said.startswith("bind to ")
    return process, int(said.rpartition(":")[2])


def test_a_server_with_its_tracker() -> None:
    tracker, port = started("tvm.exec.rpc_tracker", "--port=9950", "--port-end=10050")
    server, _ = started(
        "tvm.exec.rpc_server", "--port=9950", "--port-end=10050", "--key=board",
        f"--tracker=127.0.0.1:{port}",
    )  # fmt: skip
    try:
        sess = rpc.connect_tracker("127.0.0.1", port).request("board")
        assert sess.get_function("rpc.test.addone")(1) == 2
    finally:
        for process in (server, tracker):
            process.terminate()
            process.wait(600)


def test_options_that_do_not_fit() -> None:
    with pytest.raises(SystemExit, match="--tracker is not HOST:PORT: 'x'"):
        rpc_server.main(["--tracker=x"])
    with pytest.raises(SystemExit, match="--key is needed"):
        rpc_server.main(["--tracker=localhost:1"])
