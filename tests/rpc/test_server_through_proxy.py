"""Servers that wait at a proxy: functions of their owner, keys that are taken, no proxy there."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

import tvm
from tvm import rpc
from tvm.error import RPCError
from tvm.rpc import base, server_through_proxy
from tvm.rpc.proxy import PopenProxyServerState
from tvm.rpc.server_through_proxy import serve_through_proxy
from tvm.runtime import handshake

pytestmark = pytest.mark.cpu


def test_functions_of_this_process() -> None:
    def prepare() -> None:
        tvm.register_global_func("testing.triple", lambda x: 3 * x, override=True)

    proxy = PopenProxyServerState("127.0.0.1", 9500, 9900)
    server = rpc.Server(
        proxy.host, proxy.port, is_proxy=True, key="mine", server_init_callback=prepare
    )
    assert rpc.connect(proxy.host, proxy.port, "mine").get_function("testing.triple")(4) == 12
    server.terminate()


def test_a_key_that_is_taken() -> None:
    proxy = PopenProxyServerState("127.0.0.1", 9500, 9900)
    with socket.create_connection((proxy.host, proxy.port)) as first:
        handshake.connect(first, base.RPC_MAGIC)
        base.send_text(first, "server:taken")
        with pytest.raises(RPCError, match="another server there has the key 'taken'"):
            serve_through_proxy(lambda port: None, proxy.host, proxy.port, "taken")


def test_no_proxy_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_through_proxy, "_RETRY_S", 0.0)
    with pytest.raises(RPCError, match="Maximum retry error"):
        serve_through_proxy(lambda port: None, "127.0.0.1", 1, "key")


def test_the_command_line() -> None:
    proxy = PopenProxyServerState("127.0.0.1", 9500, 9900)
    command = [sys.executable, "-m", "tvm.exec.rpc_server", "--through-proxy", "--silent"]
    command += ["--host=127.0.0.1", f"--port={proxy.port}", "--key=shell"]
    server = subprocess.Popen(command)
    try:
        remote = rpc.connect(proxy.host, proxy.port, "shell")
        assert remote.get_function("rpc.test.addone")(1) == 2
    finally:
        server.terminate()
        server.wait()
