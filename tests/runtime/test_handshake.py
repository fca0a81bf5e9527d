"""Both ends show that they know a secret which never travels."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from tvm.error import RPCError
from tvm.runtime import handshake

pytestmark = pytest.mark.pure
MAGIC = 12345


class Wire:
    """A socket that keeps what passes."""

    def __init__(self, sock: socket.socket, seen: list[bytes]) -> None:
        self._sock, self._seen = sock, seen

    def sendall(self, data: bytes) -> None:
        self._seen += [data] if data else []
        self._sock.sendall(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._sock, name)


def both(monkeypatch: pytest.MonkeyPatch, connector: str, acceptor: str) -> list[bytes]:
    """Shake hands with a secret each; what was said, or the connector's error."""
    here, there = socket.socketpair()
    said: list[bytes] = []
    secrets = {"connector": connector.encode(), "acceptor": acceptor.encode()}
    mine = threading.local()
    monkeypatch.setattr(handshake, "secret", lambda: secrets[getattr(mine, "end", "connector")])
    failed: list[Exception] = []

    def accepting() -> None:
        mine.end = "acceptor"
        try:
            handshake.accept(Wire(there, said), MAGIC)  # type: ignore[arg-type]
        except RPCError as err:
            failed.append(err)

    thread = threading.Thread(target=accepting)
    thread.start()
    try:
        handshake.connect(Wire(here, said), MAGIC)  # type: ignore[arg-type]
    finally:
        thread.join()
        here.close()
        there.close()
    assert not failed
    return said


def test_the_secret_does_not_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    first = both(monkeypatch, "open sesame", "open sesame")
    again = both(monkeypatch, "open sesame", "open sesame")
    assert not any(b"open sesame" in data for data in first)
    assert sorted(map(len, first)) == [32, 32, 36, 36]
    assert not set(first) & set(again)  # what was heard once is of no use


def test_an_end_with_another_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(handshake.StrangerError, match="the secret of the other end differs"):
        both(monkeypatch, "guess", "open sesame")


def test_a_proof_is_no_proof_of_the_other_end() -> None:
    end, other = handshake.Acceptor(MAGIC), handshake.Connector(MAGIC)
    end.feed(other.first[:4])
    answer = end.feed(other.first[4:])
    mine = other.second(answer)
    with pytest.raises(handshake.StrangerError):
        other.finish(mine)  # sent back as it came


def test_other_protocols() -> None:
    with pytest.raises(RPCError, match="does not speak this protocol"):
        handshake.Acceptor(MAGIC).feed(b"GET ")
    with pytest.raises(RPCError, match="does not speak this protocol"):
        handshake.Connector(MAGIC).second(b"HTTP/1.1 400" + bytes(24))


def test_slow_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = socket.socketpair()
    here.sendall(b"x")
    with pytest.raises(TimeoutError, match="too slow"):
        handshake.receive(there, 2, time.monotonic() - 1)
    here.close()
    with pytest.raises(OSError, match="connection reset"):
        handshake.receive(there, 2, time.monotonic() + 600)


def test_each_user_has_a_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TVM_RPC_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mine = handshake.secret()
    assert len(mine) == 64
    assert handshake.secret() == mine
    path = handshake.secret_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["rpc-secret"]
    path.chmod(0o644)  # others may have read it
    with pytest.raises(RPCError, match="this user alone"):
        handshake.secret()
    path.unlink()
    os.symlink("/etc/hostname", path)
    with pytest.raises(RPCError, match="TVM_RPC_TOKEN"):
        handshake.secret()
    monkeypatch.setenv("TVM_RPC_TOKEN", "given")
    assert handshake.secret() == b"given"
