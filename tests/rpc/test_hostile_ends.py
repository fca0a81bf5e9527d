"""Whoever is at the other end: servers, trackers, proxies stay up, clients end in an RPCError."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tvm
from tests.rpc.garbage import flood, resident_bytes
from tvm import rpc
from tvm.error import RPCError, TVMError
from tvm.rpc import base
from tvm.rpc.proxy import Proxy
from tvm.rpc.remote import Link
from tvm.rpc.tracker import Tracker
from tvm.runtime import handshake
from tvm.runtime._device import REMOTE_MASK
from tvm.runtime.wire import Ref, encode, read_frame, write_frame

pytestmark = pytest.mark.cpu


# --- strangers ---


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """What the body starts and leaves running holds no more than a few connections' worth."""
    before = resident_bytes()
    yield
    deadline = time.monotonic() + 60  # sessions end by and by
    while resident_bytes() > before + 100 * 2**20 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert resident_bytes() <= before + 100 * 2**20


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["server", "tracker", "proxy"])
def test_garbage(kind: str, count: int) -> None:
    """It stays up, lets in who is welcome while others hold connections, and keeps no memory."""
    if kind == "server":
        server = rpc.Server("127.0.0.1", silent=True)
        with little_memory(), flood(server.port, count):
            assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
        server.terminate()
    elif kind == "tracker":
        tracker = Tracker("127.0.0.1", port=9500, port_end=9900, silent=True)
        with little_memory(), flood(tracker.port, count):
            assert rpc.connect_tracker("127.0.0.1", tracker.port).summary()["server_info"] == []
        tracker.terminate()
    else:
        proxy = Proxy("127.0.0.1", 9500, 9900)
        server = rpc.Server("127.0.0.1", proxy.port, is_proxy=True, key="k", silent=True)
        with little_memory(), flood(proxy.port, count):
            sess = rpc.connect("127.0.0.1", proxy.port, "k")
            assert sess.get_function("rpc.test.addone")(1) == 2
        server.terminate()
        proxy.terminate()


def test_a_stranger_under_the_key_of_a_server_behind_a_proxy() -> None:
    """Neither one who lacks the secret, nor a second one with it, drives the server away."""
    proxy = Proxy("127.0.0.1", 9500, 9900)
    server = rpc.Server("127.0.0.1", proxy.port, is_proxy=True, key="k", silent=True)
    assert rpc.connect("127.0.0.1", proxy.port, "k").cpu().exist
    with socket.create_connection(("127.0.0.1", proxy.port)) as stranger:
        stranger.sendall(struct.pack("<i", base.RPC_MAGIC) + bytes(64) + b"\x08\0\0\0server:k")
        assert base.recvall(stranger, 68)[36:] == bytes(32)  # no proof
        for wish in ("abc", "inf", "nan", "-5", "1e999"):
            with socket.create_connection(("127.0.0.1", proxy.port)) as sock:
                handshake.connect(sock, base.RPC_MAGIC)
                base.send_text(sock, f"client:k -timeout={wish}")
                sock.settimeout(600)
                while sock.recv(100):  # it is joined, and the session refused
                    pass
    assert rpc.connect("127.0.0.1", proxy.port, "k").get_function("rpc.test.addone")(1) == 2
    server.terminate()
    proxy.terminate()


# --- servers that lie ---


def given_by(answer: bytes) -> Callable[[], object]:
    """Ask an end that says this, whatever it is asked."""
    return lambda: Link(lambda _: answer).ask("get", "f")


TENSOR = '{"kind": "tensor", "dtype": "float32", "shape": [2], "device": [1, 0]}'


def at(device: str) -> str:
    """The tensor on another device."""
    return TENSOR.replace("[1, 0]", device)


LIES = {
    "nothing": b"",
    "noise": bytes(range(256)),
    "no pair": encode(7),
    "three": encode([True, 1, 2]),
    "no truth": encode([1, 2]),
    "an error without parts": encode([False, 3]),
    "promises": b"l" + struct.pack("<Q", 1 << 60),
    "no key": b"m\x01\0\0\0\0\0\0\0l\0\0\0\0\0\0\0\0N",
    "no text": encode([True, b"\xff"]).replace(b"b\x01", b"s\x01"),
    "a type": b"l\x02\0\0\0\0\0\0\0Ty\x03\0\0\0\0\0\0\0xyz",
    "a device": b"l\x02\0\0\0\0\0\0\0Td" + struct.pack("<qq", 1 << 40, 0),
    "a foreign device": b"l\x02\0\0\0\0\0\0\0Td" + struct.pack("<qq", REMOTE_MASK + 1, 0),
    "deep": b"l\x01\0\0\0\0\0\0\0" * 1000 + b"N",
    "about nothing": encode([True, Ref(1, "")]),
    "deep about": encode([True, Ref(1, "[" * 100_000)]),
    "about a number": encode([True, Ref(1, "7")]),
    "no kind": encode([True, Ref(1, "{}")]),
    "a number below zero": encode([True, Ref(-1, TENSOR)]),
    # what lies "here" would be read and written at the address that the other end says
    "a tensor here": encode([True, Ref(1 << 30, at(f"[{1 - REMOTE_MASK}, 0]"))]),
    "a tensor in another session": encode([True, Ref(1, at(f"[{1 + REMOTE_MASK}, 0]"))]),
    "a device of text": encode([True, Ref(1, at('["cpu", 0]'))]),
    "an index": encode([True, Ref(1, at("[1, 99999999999]"))]),
    "an extent below zero": encode([True, Ref(1, TENSOR.replace("[2]", "[-2]"))]),
    "an extent of text": encode([True, Ref(1, TENSOR.replace("[2]", '["2"]'))]),
    "an endless extent": encode([True, Ref(1, TENSOR.replace("[2]", "[Infinity]"))]),
    "huge": encode([True, Ref(1, TENSOR.replace("[2]", f"[{1 << 62}, 4]"))]),
    "many dimensions": encode([True, Ref(1, TENSOR.replace("[2]", str([1] * 1000)))]),
    "no data type": encode([True, Ref(1, TENSOR.replace("float32", "float"  * 9))]),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_answers_that_are_none(name: str) -> None:
    with pytest.raises(RPCError, match="found: an answer that is none"):
        given_by(LIES[name])()


def lying(value: object) -> rpc.RPCSession:
    """A session whose other end gives functions, and this value when one is called."""

    def answer(request: bytes) -> bytes:
        if b"get" in request[:32]:
            return encode([True, Ref(1, '{"kind": "function"}')])
        return encode([True, value])

    return rpc.RPCSession(Link(answer))


@pytest.mark.parametrize("value", [None, 7, 1 << 60, "text", [], {}, 2.5, Ref(3, TENSOR)])
def test_results_of_another_kind(value: object) -> None:
    sess = lying(value)
    for asks in (
        lambda: sess.download("a"),
        lambda: sess.load_module("a"),
        sess.system_lib,
        lambda: sess.download_linked_module("a"),
    ):
        with pytest.raises(RPCError, match="at the other end of a session"):
            asks()
    if not isinstance(value, str):
        with pytest.raises(RPCError, match="listdir at the other end"):
            sess.listdir("a")
    with pytest.raises(RPCError, match="at the other end of a session"):
        tvm.runtime.empty((3,), "float32", sess.cpu())


def test_functions_that_are_none() -> None:
    sess = rpc.RPCSession(Link(lambda _: encode([True, 3])))
    with pytest.raises(RPCError, match="found: a int"):
        sess.get_function("f")
    with pytest.raises(RPCError, match="is no function"):
        sess.download("a")


def test_bytes_of_another_length() -> None:
    sess = lying(Ref(3, TENSOR))
    with pytest.raises(RPCError, match="a bytes"):
        tvm.runtime.empty((2,), "float32", sess.cpu()).numpy()
    value = tvm.runtime.empty((2,), "float32", sess.cpu())
    sess._sess._exchange = lambda _: encode([True, b"123"])
    with pytest.raises(RPCError, match="found: 3 bytes"):
        value.numpy()


def test_random_changes_of_answers() -> None:
    good = [
        encode([True, [1, "a", {"b": [2.5, None]}, b"xyz", Ref(1, '{"kind": "function"}')]]),
        encode([True, Ref(4, TENSOR)]),
        encode([True, np.arange(6, dtype="float32").reshape(2, 3)]),
        encode([False, ["ValueError", "text"]]),
    ]
    random = np.random.default_rng(3)
    for turn in range(4000):
        data = bytearray(good[turn % len(good)])
        for _ in range(int(random.integers(1, 4))):
            at = int(random.integers(0, len(data)))
            if random.random() < 0.7:
                data[at] = int(random.integers(0, 256))
            else:
                del data[at : at + int(random.integers(1, 9))]
        try:
            given_by(bytes(data))()
        except (RPCError, MemoryError):
            continue


def served_by(say: Callable[[socket.socket], None], magic: int) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            sock, _ = server.accept()
            with sock:
                handshake.accept(sock, magic)
                say(sock)

        thread = threading.Thread(target=run)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def lets_in(sock: socket.socket) -> None:
    base.recv_text(sock)
    base.send_int(sock, base.RPC_CODE_SUCCESS)
    base.send_text(sock, "server:")


def test_lengths_are_bounded_before_memory_is_taken() -> None:
    def promises(size: int) -> Callable[[socket.socket], None]:
        def say(sock: socket.socket) -> None:
            lets_in(sock)
            with sock.makefile("rb") as source:
                read_frame(source)
            sock.sendall(struct.pack("<Q", size) + b"abc")

        return say

    for size in (1 << 35, 1 << 63, 5):
        for port in served_by(promises(size), base.RPC_MAGIC):
            sess = rpc.connect("127.0.0.1", port)
            with pytest.raises(TVMError, match=r"closed the session|a message of \d+ bytes"):
                sess.get_function("f")


def test_a_greeting_that_is_none() -> None:
    def says(data: bytes) -> Callable[[socket.socket], None]:
        def say(sock: socket.socket) -> None:
            base.recv_text(sock)
            sock.sendall(data)

        return say

    success = struct.pack("<i", base.RPC_CODE_SUCCESS)
    for data in (b"", b"\0", success + b"\xff\xff\xff\x7f", success + b"\x02\0\0\0\xff\xff"):
        for port in served_by(says(data), base.RPC_MAGIC):
            with pytest.raises(RPCError, match="not an RPC server"):
                rpc.connect("127.0.0.1", port)


@pytest.mark.parametrize(
    "text",
    ["", "7", "[0]", "[0, 7]", '[0, ["h", "1", "k"]]', '[0, ["h", 1]]', "[" * 100_000, "\xff{"],
)
def test_trackers_that_lie(text: str) -> None:
    def say(sock: socket.socket) -> None:
        base.recvjson(sock)
        base.send_text(sock, text)

    for port in served_by(say, base.RPC_TRACKER_MAGIC):
        session = rpc.connect_tracker("127.0.0.1", port)
        with pytest.raises(RuntimeError, match=r"refuses|lends no server|not RPC Tracker"):
            session.request("k", max_retry=1)


def test_requests_that_are_none() -> None:
    """The session answers with an error and goes on."""
    server = rpc.Server("127.0.0.1", silent=True)
    sess = rpc.connect("127.0.0.1", server.port)
    exchange = sess._sess._exchange
    for request in (*LIES.values(), encode(["call", Ref(10**9), []]), encode(["get", [], 3]),
                    encode(["nothing"]), encode([[]]), encode([])):  # fmt: skip
        assert b"F" in exchange(request)[:16]
    assert sess.get_function("rpc.test.addone")(1) == 2
    raw = exchange.__self__._sink  # type: ignore[attr-defined]
    write_frame(raw, b"")
    raw.write(struct.pack("<Q", 1 << 62))
    raw.flush()
    for _ in range(2):
        with contextlib.suppress(RPCError):
            sess.get_function("a")
    with pytest.raises(RPCError, match="closed the session"):
        sess.get_function("a")
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    server.terminate()
