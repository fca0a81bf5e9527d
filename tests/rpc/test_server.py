"""Servers: functions of whoever starts one, secrets, strangers."""

from __future__ import annotations

import socket

import pytest

import tvm
from tvm import rpc
from tvm.error import RPCError
from tvm.rpc import base
from tvm.rpc import server as rpc_server
from tvm.runtime import handshake

pytestmark = pytest.mark.cpu


def test_functions_of_this_process() -> None:
    def prepare() -> None:
        tvm.register_global_func("testing.double", lambda x: 2 * x, override=True)

    server = rpc.Server(server_init_callback=prepare)
    assert rpc.connect("127.0.0.1", server.port).get_function("testing.double")(4) == 8
    server.terminate()
    server.terminate()


def test_who_does_not_know_the_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_RPC_TOKEN", "secret")
    server = rpc.Server("127.0.0.1", silent=True)
    assert rpc.connect("127.0.0.1", server.port).cpu().exist
    monkeypatch.setenv("TVM_RPC_TOKEN", "guess")
    with pytest.raises(RPCError, match="the secret of the other end differs"):
        rpc.connect("127.0.0.1", server.port)
    server.terminate()


def test_strangers_do_no_harm() -> None:
    server = rpc.Server(silent=True)
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"\x71\xf2\x0f\x00\xff\xff\xff\x7f", b""):
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(data)
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    server.terminate()


def test_ports_that_are_taken() -> None:
    first = rpc.Server("127.0.0.1", port=9400, port_end=9500, silent=True)
    with pytest.raises(RPCError, match="no free port"):
        rpc.Server("127.0.0.1", port=first.port, port_end=first.port + 1, silent=True)
    first.terminate()


def test_a_process_serves_files_of_a_folder() -> None:
    folder = rpc_server._server_env(None)
    workpath = tvm.get_global_func("tvm.rpc.server.workpath")
    assert workpath("a.txt") == folder.relpath("a.txt")
    given = tvm.contrib.utils.tempdir()
    assert rpc_server._server_env("", given) is given
    with pytest.raises(ValueError, match="no_such_file"):
        tvm.get_global_func("tvm.rpc.server.load_module")("no_such_file.so")


def test_times_of_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no time is refused here, and does no harm there."""
    server = rpc.Server("127.0.0.1", silent=True)
    for bad in (float("inf"), float("nan"), 1e10, -1.0):
        with pytest.raises(RPCError, match=r"legal: from 0 \(no limit\)"):
            rpc.connect("127.0.0.1", server.port, session_timeout=bad)
    for bad in ("inf", "nan", "1e10", "-1", "abc", ""):
        with socket.create_connection(("127.0.0.1", server.port), timeout=600) as sock:
            handshake.connect(sock, base.RPC_MAGIC)
            base.send_text(sock, f"client: -timeout={bad}")
            assert sock.recv(4) == b""
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    server.terminate()


def test_who_says_nothing_holds_up_nobody() -> None:
    server = rpc.Server("127.0.0.1", silent=True)
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(80)]
    silent[0].sendall(b"\x71")
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    for sock in silent:
        sock.close()
    server.terminate()
