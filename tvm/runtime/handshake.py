"""How two ends of a connection show each other that they know the same secret.

    connector -> acceptor       magic, nonce
    acceptor  -> connector      magic, nonce
    connector -> acceptor       HMAC-SHA256(secret, "connector", both nonces)
    acceptor  -> connector      HMAC-SHA256(secret, "acceptor", both nonces)

The secret itself never travels, an old proof is of no use with new nonces, and an end cannot be
made to give the proof of the other. Who sits between the two can still read and change what comes
after it; `tls` keeps them out.

The secret is TVM_RPC_TOKEN. Without it, it is one that each user of a machine has in a file that
only they can read: other users of the machine are strangers too.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import socket
import stat
import struct
import threading
import time
from pathlib import Path
from typing import Final

from tvm.error import RPCError, message

_INT: Final = struct.Struct("<i")
_NONCE_BYTES: Final = 32
_PROOF_BYTES: Final = 32
_NO_PROOF: Final = bytes(_PROOF_BYTES)
_SECONDS: Final = 10.0  # for all of a handshake
_MAX_SECRET: Final = 4096


def secret() -> bytes:
    """What both ends must know."""
    given = os.environ.get("TVM_RPC_TOKEN", "")
    return given.encode("utf-8", "surrogateescape") if given else _own_secret()


def secret_file() -> Path:
    """Where the user's own secret lies."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tvm-py" / "rpc-secret"


def _own_secret() -> bytes:
    path = secret_file()
    for _ in range(2):
        with contextlib.suppress(OSError):
            return _read_private(path)
        with contextlib.suppress(OSError):
            _write_private(path, secrets.token_hex(_NONCE_BYTES).encode())
    raise RPCError(
        message(
            "the secret of a connection",
            found=f"no TVM_RPC_TOKEN, and no file {path} that this user alone can read and write",
            legal="the same TVM_RPC_TOKEN at both ends",
        )
    )


def _read_private(path: Path) -> bytes:
    """The content of a file that nobody else can read or has made."""
    how = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    number = os.open(path, how)
    with os.fdopen(number, "rb") as file:
        facts = os.fstat(number)
        foreign = hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & 0o077)
        content = file.read(_MAX_SECRET) if stat.S_ISREG(facts.st_mode) and not foreign else b""
    if not content:
        raise PermissionError(f"{path} can be read by others")
    return content


def _write_private(path: Path, content: bytes) -> None:
    """Make the file at once and whole, if there is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    number = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        os.link(own, path)  # fails where another process was first
    finally:
        own.unlink()


def _proof(who: str, connector_nonce: bytes, acceptor_nonce: bytes) -> bytes:
    said = who.encode() + connector_nonce + acceptor_nonce
    return hmac.digest(secret(), said, "sha256")


class Acceptor:
    """The accepting end, fed with bytes as they come: `wants` at a time, until it is `done`."""

    def __init__(self, magic: int) -> None:
        self.wants = _INT.size
        self.done = False
        self._magic = magic
        self._mine = secrets.token_bytes(_NONCE_BYTES)
        self._theirs = b""
        self._step = 0

    def feed(self, data: bytes) -> bytes:
        """What to answer to the next `wants` bytes; RPCError if the other end is a stranger."""
        assert len(data) == self.wants and not self.done, "bytes come as they are wanted"
        self._step += 1
        if self._step == 1:
            if _INT.unpack(data)[0] != self._magic:
                raise RPCError("it does not speak this protocol")
            self.wants = _NONCE_BYTES
            return b""
        if self._step == 2:
            self._theirs, self.wants = data, _PROOF_BYTES
            return _INT.pack(self._magic) + self._mine
        self.done, self.wants = True, 0
        if not hmac.compare_digest(data, _proof("connector", self._theirs, self._mine)):
            raise StrangerError("it does not know the secret")
        return _proof("acceptor", self._theirs, self._mine)


class Connector:
    """The connecting end: send `first`, then `second(answer)`, then let it `finish(answer)`."""

    SECOND_BYTES: Final = _INT.size + _NONCE_BYTES  # of the first answer
    FINAL_BYTES: Final = _PROOF_BYTES

    def __init__(self, magic: int) -> None:
        self._magic = magic
        self._mine = secrets.token_bytes(_NONCE_BYTES)
        self._theirs = b""
        self.first: Final = _INT.pack(magic) + self._mine

    def second(self, answer: bytes) -> bytes:
        """The proof of this end."""
        if _INT.unpack_from(answer)[0] != self._magic:
            raise RPCError("the other end does not speak this protocol")
        self._theirs = answer[_INT.size :]
        return _proof("connector", self._mine, self._theirs)

    def finish(self, answer: bytes) -> None:
        """Nothing, if the other end has given its proof; else a StrangerError."""
        if not hmac.compare_digest(answer, _proof("acceptor", self._mine, self._theirs)):
            raise StrangerError(
                message(
                    "a connection",
                    found="the secret of the other end differs",
                    legal="the same TVM_RPC_TOKEN at both ends, or the same user of one machine",
                )
            )


class StrangerError(RPCError):
    """The other end does not know the secret."""

    answer: Final = _NO_PROOF  # so that it learns why


def accept(sock: socket.socket, magic: int) -> None:
    """The accepting end of a connection that may wait; RPCError if the other is a stranger."""
    until = time.monotonic() + _SECONDS
    end = Acceptor(magic)
    try:
        while not end.done:
            sock.sendall(end.feed(receive(sock, end.wants, until)))
    except StrangerError as err:
        sock.sendall(err.answer)
        raise


def connect(sock: socket.socket, magic: int, seconds: float = _SECONDS) -> None:
    """The connecting end; RPCError if the other is a stranger, or something else altogether."""
    until = time.monotonic() + seconds
    end = Connector(magic)
    sock.sendall(end.first)
    sock.sendall(end.second(receive(sock, end.SECOND_BYTES, until)))
    end.finish(receive(sock, end.FINAL_BYTES, until))


def receive(sock: socket.socket, count: int, until: float) -> bytes:
    """So many bytes before a moment of `time.monotonic`, however slowly they come."""
    before, data = sock.gettimeout(), b""
    try:
        while len(data) < count:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the other end is too slow")
            sock.settimeout(min(left, threading.TIMEOUT_MAX))
            piece = sock.recv(count - len(data))
            if not piece:
                raise OSError("connection reset")
            data += piece
    finally:
        sock.settimeout(before)
    return data
