"""The entry point of workers on other machines; tests/runtime/disco runs it as a process."""

from __future__ import annotations

import socket
import threading

import pytest

from tvm.error import TVMError
from tvm.exec import disco_remote_socket_session as remote

pytestmark = pytest.mark.cpu


def test_it_says_how_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["x", "localhost"])
    with pytest.raises(SystemExit, match="HOST PORT WORKERS"):
        remote.main()


def test_the_other_end_must_be_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("localhost", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close()).start()
        port = server.getsockname()[1]
        monkeypatch.setattr("sys.argv", ["x", "localhost", str(port), "1"])
        with pytest.raises(TVMError, match="no session that waits for workers"):
            remote.main()
