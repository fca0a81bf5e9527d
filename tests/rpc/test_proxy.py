"""Servers and clients that meet at a proxy."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import tvm
from tvm import rpc
from tvm.error import RPCError
from tvm.rpc import base
from tvm.rpc.proxy import PopenProxyServerState, Proxy
from tvm.rpc.server import PopenRPCServerState
from tvm.rpc.tracker import PopenTrackerServerState, Tracker
from tvm.runtime import handshake

pytestmark = pytest.mark.cpu


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    found = Proxy("127.0.0.1", port=9500, port_end=9900)
    yield found
    found.terminate()


def served(proxy: Proxy | PopenProxyServerState, key: str = "board") -> rpc.Server:
    return rpc.Server(proxy.host, proxy.port, is_proxy=True, key=key, silent=True)


def test_sessions_one_after_the_other(proxy: Proxy) -> None:
    server = served(proxy)
    for number in range(3):
        remote = rpc.connect(proxy.host, proxy.port, "board")
        assert remote.get_function("rpc.test.addone")(number) == number + 1
        del remote
    server.terminate()


def test_much_data_both_ways(proxy: Proxy) -> None:
    server = served(proxy)
    remote = rpc.connect(proxy.host, proxy.port, "board")
    data = np.random.default_rng(0).random(1 << 20)
    there = tvm.runtime.tensor(data, remote.cpu())
    np.testing.assert_array_equal(there.numpy(), data)
    remote.upload(data.tobytes()[:100_001], "data.bin")
    assert bytes(remote.download("data.bin")) == data.tobytes()[:100_001]
    server.terminate()


def test_a_client_may_come_first(proxy: Proxy) -> None:
    program = "import sys; from tvm import rpc; r = rpc.connect('127.0.0.1', int(sys.argv[1]), "
    program += "'late'); print(r.get_function('rpc.test.addone')(41))"
    client = subprocess.Popen(
        [sys.executable, "-c", program, str(proxy.port)], stdout=subprocess.PIPE, text=True
    )
    server = served(proxy, "late")
    assert client.communicate(timeout=600)[0].strip() == "42"
    server.terminate()


def test_session_timeout(proxy: Proxy) -> None:
    server = served(proxy)
    remote = rpc.connect(proxy.host, proxy.port, "board", session_timeout=3)
    with pytest.raises(tvm.error.RPCSessionTimeoutError):
        remote.get_function("rpc.test.sleep")(600)
    server.terminate()


def test_nobody_comes() -> None:
    proxy = PopenProxyServerState("127.0.0.1", 9500, 9900, timeout_client=0.2)
    with pytest.raises(RPCError, match="its key is not 'nobody'"):
        rpc.connect(proxy.host, proxy.port, "nobody")


def greeted(proxy: Proxy, key: str) -> int:
    with socket.create_connection((proxy.host, proxy.port), timeout=6000) as sock:
        handshake.connect(sock, base.RPC_MAGIC)
        base.send_text(sock, key)
        return base.recv_int(sock)


def test_greetings_that_are_refused(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection((proxy.host, proxy.port)) as first:
        handshake.connect(first, base.RPC_MAGIC)
        base.send_text(first, "server:board")
        assert greeted(proxy, "server:board") == base.RPC_CODE_DUPLICATE
    with monkeypatch.context() as other:
        other.setenv("TVM_RPC_TOKEN", "guess")
        with pytest.raises(handshake.StrangerError, match="differs"):
            greeted(proxy, "server:board")
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"\x71\xf2\x0f\x00\xff\xff\xff\x7f", b""):
        with socket.create_connection((proxy.host, proxy.port), timeout=6000) as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(1) == b""
    with pytest.raises(OSError, match="connection reset"):
        greeted(proxy, "neither:board")
    server = served(proxy)
    assert rpc.connect(proxy.host, proxy.port, "board").cpu().exist
    server.terminate()


@pytest.mark.parametrize("key", ["test_device", "127.0.0.1:5555"])
def test_servers_behind_a_proxy_at_a_tracker(key: str) -> None:
    tracker = Tracker("127.0.0.1", port=9500, port_end=9900, silent=True)
    where = (tracker.host, tracker.port)
    proxy = Proxy("127.0.0.1", 9500, 9900, tracker_addr=where)
    servers = [
        rpc.Server(proxy.host, proxy.port, is_proxy=True, key=key, tracker_addr=where, silent=True)
        for _ in range(2)
    ]
    client = rpc.connect_tracker(*where)
    first, second = client.request(key), client.request(key)
    assert first.get_function("rpc.test.addone")(1) == 2
    assert second.get_function("rpc.test.addone")(2) == 3
    del first
    again = client.request(key)  # the server has come back
    assert again.get_function("rpc.test.addone")(3) == 4
    with pytest.raises(RPCError, match="its key is not"):
        rpc.connect(proxy.host, proxy.port, key)
    for one in (*servers, proxy, tracker):
        one.terminate()


def test_all_in_threads_of_this_process() -> None:
    tracker = PopenTrackerServerState("127.0.0.1", 9500, 9900, silent=True)
    proxy = PopenProxyServerState("127.0.0.1", 9500, 9900)
    plain = PopenRPCServerState(
        "127.0.0.1", 9500, 9900, tracker_addr=(tracker.host, tracker.port), key="thread"
    )
    PopenRPCServerState(proxy.host, proxy.port, is_proxy=True, key="proxied", silent=True)
    assert len({tracker.port, proxy.port, plain.port}) == 3
    direct = rpc.connect_tracker(tracker.host, tracker.port).request("thread")
    assert direct.get_function("rpc.test.addone")(1) == 2
    through = rpc.connect(proxy.host, proxy.port, "proxied")
    assert through.get_function("rpc.test.addone")(2) == 3
    with pytest.raises(RPCError, match="no free port"):
        PopenRPCServerState("127.0.0.1", plain.port, plain.port + 1)


def test_no_web_server() -> None:
    with pytest.raises(RPCError, match="no web server in this installation"):
        PopenProxyServerState("127.0.0.1", 9500, 9900, web_port=8080)
