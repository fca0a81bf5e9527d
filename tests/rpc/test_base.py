"""Handshakes, keys, and who is let in."""

from __future__ import annotations

import socket

import pytest

from tvm.error import RPCError
from tvm.rpc import base

pytestmark = pytest.mark.cpu


def test_plain_data_over_a_socket() -> None:
    here, there = socket.socketpair()
    base.sendjson(here, [1, {"a": "grüße"}, None])
    assert base.recvjson(there) == [1, {"a": "grüße"}, None]
    base.send_int(here, -5)
    assert base.recv_int(there) == -5
    here.sendall(b"\xff\xff\xff\x7f")
    with pytest.raises(RPCError, match="promises"):
        base.recv_text(there)
    here.close()
    with pytest.raises(OSError, match="connection reset"):
        base.recvall(there, 4)


def test_keys() -> None:
    key = base.random_key("a:b")
    assert key != base.random_key("a:b")
    assert base.split_random_key(key)[0] == "a:b"


def test_ports_are_tried_in_turn() -> None:
    first = base.listen("127.0.0.1", 9300, 9399)
    port = first.getsockname()[1]
    second = base.listen("127.0.0.1", port, port + 50)
    assert second.getsockname()[1] > port
    with pytest.raises(RPCError, match="no free port"):
        base.listen("127.0.0.1", port, port + 1)
    with pytest.raises(RPCError, match="no free port from 70000"):
        base.listen("127.0.0.1", 70_000, 70_001)


def test_nobody_listens() -> None:
    with pytest.raises(RuntimeError, match="Failed to connect"):
        base.connect_with_retry(("127.0.0.1", 1), timeout=0, retry_period=0.01)
