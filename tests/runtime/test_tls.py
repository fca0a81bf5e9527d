"""Where programs listen, and what they say to strangers; with certificates made for the tests."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.rpc.garbage import flood
from tvm import rpc
from tvm.error import RPCError, TVMError
from tvm.rpc import base
from tvm.rpc.proxy import Proxy
from tvm.rpc.tracker import Tracker
from tvm.runtime import disco, tls
from tvm.runtime.disco.session import join_session

pytestmark = pytest.mark.cpu

CERTIFICATES = Path(__file__).parent / "certificates"


@pytest.fixture
def certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_RPC_TLS", str(CERTIFICATES / "one"))
    monkeypatch.setenv("TVM_RPC_TOKEN", "secret")


# --- where to listen ---


def test_where_strangers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TVM_RPC_TOKEN", "TVM_RPC_TLS"):
        monkeypatch.delenv(name, raising=False)
    for host in ("localhost", "127.0.0.1", "127.5.5.5", "::1"):
        assert tls.bind_address(host) == host
    asked = "which other machines reach"
    for host in ("0.0.0.0", "::", ""):
        assert tls.bind_address(host) == "127.0.0.1"
    for secret, certificates, lacks in (
        ("", "", "no secret in TVM_RPC_TOKEN, no certificates in TVM_RPC_TLS"),
        ("s", "", "found: no certificates in TVM_RPC_TLS"),
        ("", "folder", "found: no secret in TVM_RPC_TOKEN"),
    ):
        monkeypatch.setenv("TVM_RPC_TOKEN", secret)
        monkeypatch.setenv("TVM_RPC_TLS", certificates)
        assert tls.bind_address("0.0.0.0") == "127.0.0.1"
        for host in ("192.0.2.7", "board.example", "2001:db8::1"):
            with pytest.raises(RPCError, match=asked) as found:
                tls.bind_address(host)
            assert lacks in str(found.value)
    for certificates in ("folder", "off"):
        monkeypatch.setenv("TVM_RPC_TOKEN", "s")
        monkeypatch.setenv("TVM_RPC_TLS", certificates)
        assert tls.bind_address("0.0.0.0") == "0.0.0.0"
        assert tls.bind_address("192.0.2.7") == "192.0.2.7"


def test_nobody_listens_for_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_RPC_TOKEN", "secret")
    monkeypatch.delenv("TVM_RPC_TLS", raising=False)
    for start in (
        lambda: rpc.Server("192.0.2.7", silent=True),
        lambda: Tracker("192.0.2.7", silent=True),
        lambda: Proxy("192.0.2.7"),
        lambda: disco.SocketSession(2, 1, 1, "192.0.2.7", 9400),
    ):
        with pytest.raises(RPCError, match="which other machines reach"):
            start()


# --- certificates ---


def test_folders_that_hold_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_RPC_TLS", str(tmp_path / "none"))
    with pytest.raises(RPCError, match=r"a folder with ca\.pem, cert\.pem and key\.pem"):
        tls.server_context()
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("no certificate")
    monkeypatch.setenv("TVM_RPC_TLS", str(tmp_path))
    with pytest.raises(RPCError, match="found: SSLError"):
        tls.client_context()
    monkeypatch.setenv("TVM_RPC_TLS", "off")
    assert tls.client_context() is tls.server_context() is None


@contextlib.contextmanager
def echo() -> Iterator[int]:
    """A port behind a gate that sends back what comes."""
    gate = tls.Gate(socket.create_server(("127.0.0.1", 0)))

    def run() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = gate.accept()
                threading.Thread(target=answer, args=(sock,), daemon=True).start()

    def answer(sock: socket.socket) -> None:
        with sock:
            while data := sock.recv(1 << 16):
                sock.sendall(data)

    threading.Thread(target=run, daemon=True).start()
    yield gate.getsockname()[1]
    gate.close()


def test_much_passes_both_ways(certified: None) -> None:
    data = np.random.default_rng(0).bytes(3 << 20)
    with echo() as port, tls.dial(("127.0.0.1", port), 600) as sock:
        sender = threading.Thread(target=sock.sendall, args=(data,))
        sender.start()
        assert base.recvall(sock, len(data)) == data
        sender.join()


def _answer(context: ssl.SSLContext, plain: socket.socket) -> bytes:
    try:
        with context.wrap_socket(plain) as sock:
            sock.sendall(b"hello")
            return sock.recv(5)
    except (ssl.SSLError, ConnectionError):
        return b""


def test_strangers_learn_nothing(certified: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with echo() as port:
        # in the clear
        with socket.create_connection(("127.0.0.1", port), 600) as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n" * 100)
            with contextlib.suppress(ConnectionError):
                assert b"GET" not in sock.recv(100)
        # without a certificate, and with one of another authority
        for chain in (None, CERTIFICATES / "stranger"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if chain is not None:
                context.load_cert_chain(chain / "cert.pem", chain / "key.pem")
            with socket.create_connection(("127.0.0.1", port), 600) as plain:
                assert _answer(context, plain) == b""
        # nor does one who poses as a server get as far as the handshake over the secret
        with monkeypatch.context() as other:
            other.setenv("TVM_RPC_TLS", str(CERTIFICATES / "stranger"))
            with pytest.raises(RPCError, match="certificate verify failed"):
                tls.dial(("127.0.0.1", port), 600)
        with flood(port, 150), tls.dial(("127.0.0.1", port), 600) as sock:
            sock.sendall(b"hello")
            assert base.recvall(sock, 5) == b"hello"


def test_who_speaks_no_tls(certified: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            sock, _ = server.accept()
            sock.sendall(b"no TLS at all\n" * 10)
            sock.close()

        thread = threading.Thread(target=run)
        thread.start()
        with pytest.raises(RPCError, match="by TLS"):
            tls.dial(server.getsockname(), 600)
        thread.join()


# --- the programs ---


class Tap:
    """Passes what two ends say, and keeps it."""

    def __init__(self, port: int) -> None:
        self.seen = bytearray()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._to = port
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        here, _ = self._server.accept()
        there = socket.create_connection(("127.0.0.1", self._to))
        for source, sink in ((here, there), (there, here)):
            threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.seen += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def test_a_server(certified: None, monkeypatch: pytest.MonkeyPatch) -> None:
    server = rpc.Server("127.0.0.1", silent=True)
    tap = Tap(server.port)
    sess = rpc.connect("127.0.0.1", tap.port)
    sess.upload(b"nobody else reads this" * 10, "a.txt")
    assert sess.download("a.txt") == b"nobody else reads this" * 10
    assert b"nobody" not in tap.seen
    assert len(tap.seen) > 1000
    del sess
    with monkeypatch.context() as other:
        other.setenv("TVM_RPC_TOKEN", "guess")  # a certificate alone is not enough
        with pytest.raises(RPCError, match="the secret of the other end differs"):
            rpc.connect("127.0.0.1", server.port)
        other.setenv("TVM_RPC_TLS", "off")
        with pytest.raises(RPCError, match="not an RPC server"):
            rpc.connect("127.0.0.1", server.port)
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    server.terminate()


def test_a_tracker_a_proxy_and_their_servers(certified: None) -> None:
    tracker = Tracker("127.0.0.1", port=9500, port_end=9900, silent=True)
    where = (tracker.host, tracker.port)
    proxy = Proxy("127.0.0.1", 9500, 9900, tracker_addr=where)
    hidden = rpc.Server(proxy.host, proxy.port, is_proxy=True, key="hidden", silent=True)
    plain = rpc.Server("127.0.0.1", key="plain", tracker_addr=where, silent=True)
    client = rpc.connect_tracker(*where)
    for key in ("plain", "hidden"):
        sess = client.request(key)
        value = tvm.runtime.tensor(np.arange(100_000.0), sess.cpu())
        np.testing.assert_array_equal(value.numpy(), np.arange(100_000.0))
        del sess, value
    for one in (hidden, plain, proxy, tracker):
        one.terminate()


def test_a_session_of_several_machines(certified: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def join() -> None:
        for _ in range(600):
            try:
                join_session("127.0.0.1", port, 1)
                return
            except OSError:  # it does not listen yet
                threading.Event().wait(0.05)

    worker = threading.Thread(target=join, daemon=True)
    worker.start()
    session = disco.SocketSession(2, 1, 1, "127.0.0.1", port)
    total = session.empty((4,), "float32")
    session.init_ccl("loopback", 0, 1)
    for i in range(2):
        total.debug_copy_from(i, np.full(4, i + 1.0, "float32"))
    session.allreduce(total, total)
    np.testing.assert_array_equal(total.debug_get_from_remote(1).numpy(), np.full(4, 3.0))
    session.shutdown()
    worker.join(600)
    assert not worker.is_alive()


def test_an_address_that_is_taken() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(TVMError, match="start a session of several machines"),
    ):
        disco.SocketSession(2, 1, 1, "127.0.0.1", other.getsockname()[1])
    with pytest.raises(TVMError, match="a free port"):
        disco.SocketSession(2, 1, 1, "127.0.0.1", 70_000)


def test_a_copy_of_this_process_has_a_thread_of_its_own(certified: None) -> None:
    with echo() as port, tls.dial(("127.0.0.1", port), 600):
        child = os.fork()
        if not child:
            with tls.dial(("127.0.0.1", port), 600) as sock:
                sock.sendall(b"hello")
                os._exit(0 if base.recvall(sock, 5) == b"hello" else 1)
        assert os.waitpid(child, 0)[1] == 0
