"""Strangers that connect to a port of this machine and say what has no meaning."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tvm.rpc import base

_HELD = 100  # stay connected, and say nothing more
_SLOW = 8
_HEADS = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"",
    struct.pack("<i", base.RPC_MAGIC), struct.pack("<i", base.RPC_TRACKER_MAGIC),
    struct.pack("<i", base.RPC_MAGIC) + b"\xff\xff\xff\x7f", b"\0" * 100, b"SSH-2.0-x\r\n",
    # frames: nested too deep, of 2 GiB, of less than nothing, and a number of many digits
    *(struct.pack("<ii", magic, length) + text for magic in (base.RPC_MAGIC, base.RPC_TRACKER_MAGIC)
      for length, text in ((20_000, b"[" * 20_000), (2**31 - 1, b"{" * 50), (-1, b"x" * 9),
                           (5_000, b"9" * 5_000), (30, b'[0, "key", {"a": 1e999}, nu'))),
)  # fmt: skip


@contextlib.contextmanager
def flood(port: int, count: int) -> Iterator[None]:
    """So many connections, one after the other; the last ones are held while the body runs."""
    random = np.random.default_rng(count)
    held: list[socket.socket] = []
    done = threading.Event()
    slow = [threading.Thread(target=_trickle, args=(port, done)) for _ in range(_SLOW)]
    try:
        for thread in slow:
            thread.start()
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
        done.set()
        for thread in slow:
            thread.join()
        for sock in held:
            sock.close()


def _trickle(port: int, done: threading.Event) -> None:
    """One byte after the other, of what looks like a beginning."""
    text = struct.pack("<ii", base.RPC_TRACKER_MAGIC, 1000) + b"[" * 1000
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as sock:
        for byte in text:
            if done.wait(0.02):
                return
            sock.sendall(bytes([byte]))


def resident_bytes() -> int:
    """The memory of all processes that this one, or one of them, has started."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            after = (folder / "stat").read_text().rpartition(")")[2].split()
            held = int((folder / "statm").read_text().split()[1])  # it may be gone by now
            parents[int(folder.name)], pages[int(folder.name)] = int(after[1]), held
    found, todo = 0, [os.getpid()]
    while todo:
        children = [pid for pid, parent in parents.items() if parent in todo]
        found += sum(pages[pid] for pid in children)
        todo = children
    return found * os.sysconf("SC_PAGE_SIZE")
