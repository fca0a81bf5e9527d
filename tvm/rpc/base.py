"""What clients, servers and trackers say to each other before and beside the work."""

from __future__ import annotations

import json
import secrets
import socket
import struct
import time
from collections.abc import Container
from typing import Any, Final

from tvm.error import RPCError, message
from tvm.runtime import handshake, tls
from tvm.support.json_text import from_json

RPC_MAGIC: Final = 0xFF271
RPC_TRACKER_MAGIC: Final = 0x2F271
RPC_CODE_SUCCESS: Final = RPC_MAGIC + 0
RPC_CODE_DUPLICATE: Final = RPC_MAGIC + 1
RPC_CODE_MISMATCH: Final = RPC_MAGIC + 2
_INT: Final = struct.Struct("<i")
_MAX_TEXT: Final = 1 << 24
_BACKLOG: Final = 128
MAX_GREETING: Final = 1 << 16  # bytes of text
MAX_SECONDS: Final = 1e6  # of a session with a limit


def session_seconds(value: float) -> float:
    """The seconds that a session may take; 0 for no limit."""
    seconds = float(value)
    if not 0 <= seconds <= MAX_SECONDS:
        raise RPCError(
            message(
                "the time of a session",
                found=f"{value} seconds",
                legal=f"from 0 (no limit) to {MAX_SECONDS:g}",
            )
        )
    return seconds


class TrackerCode:
    """The first item of a message to or from a tracker."""

    FAIL = -1
    SUCCESS = 0
    PING = 1
    STOP = 2
    PUT = 3
    REQUEST = 4
    UPDATE_INFO = 5
    SUMMARY = 6
    GET_PENDING_MATCHKEYS = 7


def listen(host: str, port: int, port_end: int, reuse_addr: bool = True) -> tls.Gate:
    """Listen on the first free port of a range, where `tls.bind_address` says."""
    host = tls.bind_address(host)
    try:
        family = get_addr_family((host, port))
    except OSError as err:
        legal = "an address of this machine"
        raise RPCError(message(f"listen on {host}", found=str(err), legal=legal)) from err
    for number in range(port, max(port_end, port + 1)):
        sock = socket.socket(family, socket.SOCK_STREAM)
        if reuse_addr:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, number))
            sock.listen(_BACKLOG)
        except (OSError, OverflowError):
            sock.close()
            continue
        return tls.Gate(sock)
    raise RPCError(
        message(
            f"listen on {host}", found=f"no free port from {port} to {port_end}", legal="others"
        )
    )


def get_addr_family(addr: tuple[str, int]) -> socket.AddressFamily:
    """The kind of network of an address."""
    found = socket.getaddrinfo(addr[0], addr[1], 0, 0, socket.IPPROTO_TCP)
    return found[0][0]


def recvall(sock: socket.socket, nbytes: int) -> bytes:
    """So many bytes, however many pieces they come in."""
    pieces = []
    left = nbytes
    while left:
        piece = sock.recv(min(left, 1 << 20))
        if not piece:
            raise OSError("connection reset")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def recv_int(sock: socket.socket) -> int:
    """A number of a handshake."""
    return int(_INT.unpack(recvall(sock, _INT.size))[0])


def recv_text(sock: socket.socket) -> str:
    """A text of a handshake."""
    size = recv_int(sock)
    if not 0 <= size <= _MAX_TEXT:
        raise RPCError(f"a message that promises {size} bytes of text")
    return recvall(sock, size).decode()


def send_int(sock: socket.socket, number: int) -> None:
    """Send a number of a handshake."""
    sock.sendall(_INT.pack(number))


def send_text(sock: socket.socket, text: str) -> None:
    """Send a text of a handshake."""
    data = text.encode()
    sock.sendall(_INT.pack(len(data)) + data)


def sendjson(sock: socket.socket, data: Any) -> None:
    """Send plain data."""
    send_text(sock, json.dumps(data))


def recvjson(sock: socket.socket) -> Any:
    """The plain data that `sendjson` sent."""
    return from_json(recv_text(sock))


class Greeting:
    """What a server hears first, in whatever pieces: a handshake, and a text of who wants what."""

    def __init__(self, magic: int) -> None:
        self._end = handshake.Acceptor(magic)
        self._came = bytearray()
        self._size = -1
        self.text: str | None = None

    @property
    def wants(self) -> int:
        """The most bytes that may be fed next; 0 when the greeting is whole."""
        if self.text is not None:
            return 0
        if not self._end.done:
            return self._end.wants - len(self._came)
        return (_INT.size if self._size < 0 else self._size) - len(self._came)

    def feed(self, data: bytes) -> bytes:
        """What to answer; `text` is set once all has come. RPCError for strangers."""
        assert 0 < len(data) <= self.wants, "more would belong to what follows"
        self._came += data
        if self.wants:
            return b""
        part = bytes(self._came)
        self._came.clear()
        if not self._end.done:
            return self._end.feed(part)
        if self._size < 0:
            (self._size,) = _INT.unpack(part)
            if not 0 < self._size <= MAX_GREETING:
                raise RPCError(f"a greeting that promises {self._size} bytes of text")
        else:
            self.text = part.decode()
        return b""


def random_key(prefix: str, delimiter: str = ":", cmap: Container[str] | None = None) -> str:
    """A key with a random end, not in `cmap`."""
    while True:
        key = prefix + delimiter + secrets.token_hex(16)
        if cmap is None or key not in cmap:
            return key


def split_random_key(key: str, delimiter: str = ":") -> tuple[str, str]:
    """The two parts of a key that `random_key` made."""
    prefix, _, end = key.rpartition(delimiter)
    return prefix, end


def connect_with_retry(
    addr: tuple[str, int], timeout: float = 60, retry_period: float = 5
) -> socket.socket:
    """A connection; where nobody listens yet, try again until the time is over."""
    start = time.monotonic()
    while True:
        try:
            return tls.dial(addr)
        except OSError as err:
            if time.monotonic() - start + retry_period > timeout:
                raise RuntimeError(f"Failed to connect to server {addr}: {err}") from err
            time.sleep(retry_period)
