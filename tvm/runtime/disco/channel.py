"""Two-way channels between a session and its workers, in a process and between processes."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from typing import Any, BinaryIO, Protocol

from tvm.runtime import tls
from tvm.runtime.wire import decode, encode, read_frame, write_frame


class Channel(Protocol):
    """One end: messages are lists of plain values, tensors and Refs."""

    def send(self, message: list[Any]) -> None:
        """Give a message to the other end."""

    def receive(self) -> list[Any] | None:
        """The next message; None when the other end is gone."""

    def close(self) -> None:
        """Let the other end know that nothing more comes."""


class QueueChannel:
    """An end within a process; messages hold the objects themselves."""

    def __init__(self, incoming: queue.SimpleQueue[Any], outgoing: queue.SimpleQueue[Any]) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, message: list[Any]) -> None:
        self._outgoing.put(message)

    def receive(self) -> list[Any] | None:
        found: list[Any] | None = self._incoming.get()
        return found

    def close(self) -> None:
        self._outgoing.put(None)


def queue_pair() -> tuple[QueueChannel, QueueChannel]:
    """Both ends of a channel within a process."""
    there: queue.SimpleQueue[Any] = queue.SimpleQueue()
    back: queue.SimpleQueue[Any] = queue.SimpleQueue()
    return QueueChannel(back, there), QueueChannel(there, back)


class PipeChannel:
    """An end between processes; messages travel as bytes."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source, self._sink = source, sink
        self._lock = threading.Lock()

    def send(self, message: list[Any]) -> None:
        data = encode(message)
        with self._lock:
            write_frame(self._sink, data)

    def receive(self) -> list[Any] | None:
        try:
            data = read_frame(self._source)
            found = None if data is None else decode(data)
        except (OSError, ValueError):  # closed meanwhile, or no message
            return None
        return found if isinstance(found, list) and found else None

    def close(self) -> None:
        with self._lock:
            self._sink.close()


class SocketChannel(PipeChannel):
    """An end over a socket."""

    def __init__(self, sock: socket.socket) -> None:
        tls.send_at_once(sock)
        super().__init__(sock.makefile("rb"), sock.makefile("wb"))
        self._sock = sock

    def close(self) -> None:
        with self._lock:
            with contextlib.suppress(OSError):  # the other end was first
                self._sock.shutdown(socket.SHUT_RDWR)
            self._sock.close()
