"""Strangers that connect to a port of this machine and say what has no meaning."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

import numpy as np

from tvm.rpc import base

_HELD = 100  # stay connected, and say nothing more
_HEADS = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"",
    struct.pack("<i", base.RPC_MAGIC), struct.pack("<i", base.RPC_TRACKER_MAGIC),
    struct.pack("<i", base.RPC_MAGIC) + b"\xff\xff\xff\x7f", b"\0" * 100, b"SSH-2.0-x\r\n",
)  # fmt: skip


@contextlib.contextmanager
def flood(port: int, count: int) -> Iterator[None]:
    """So many connections, one after the other; the last ones are held while the body runs."""
    random = np.random.default_rng(count)
    held: list[socket.socket] = []
    try:
        for _ in range(count):
            sock = socket.create_connection(("127.0.0.1", port), timeout=600)
            head = _HEADS[int(random.integers(0, len(_HEADS)))]
            tail = random.bytes(int(random.integers(0, 200)))
            with contextlib.suppress(OSError):  # it was sent away
                sock.sendall(head + tail)
            held.append(sock)
            if len(held) > _HELD:
                held.pop(0).close()
        yield
    finally:
        for sock in held:
            sock.close()
