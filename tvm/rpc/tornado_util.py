"""Connections of an event loop: what comes goes to `on_message`, what is sent waits its turn."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from typing import Final

_MAX_READ: Final = 1 << 16
_MANY_BYTES: Final = 1 << 22  # that wait to be sent: time to read no more of what is passed on


class TCPHandler:
    """One connection of the running asyncio loop. Subclasses say what messages mean."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._closing = self._closed = self._resting = False
        sock.setblocking(False)
        self._loop.add_reader(sock, self._readable)

    # --- what subclasses define ---

    def on_message(self, message: bytes) -> None:
        """Bytes have come."""
        raise NotImplementedError  # abstract

    def on_close(self) -> None:
        """The connection is gone."""

    def on_drained(self) -> None:
        """There is room again for what is to be sent."""

    # --- sending ---

    def write_message(self, message: bytes | str, binary: bool = True) -> None:
        """Send bytes, after those that wait already; text is sent as UTF-8."""
        data = message.encode() if isinstance(message, str) else message
        assert binary or isinstance(message, str), "text is what is not binary"
        if self._closing or self._closed:
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._send()

    @property
    def is_full(self) -> bool:
        """So much waits to be sent that more should not come."""
        return self._waiting_bytes > _MANY_BYTES

    def _send(self) -> None:
        try:
            while self._waiting:
                data = self._waiting.popleft()
                sent = self._sock.send(data)
                self._waiting_bytes -= sent
                if sent < len(data):
                    self._waiting.appendleft(data[sent:])
        except BlockingIOError:
            self._waiting.appendleft(data)
        except OSError:
            self.close()
            return
        if self._waiting:
            self._loop.add_writer(self._sock, self._writable)
        elif self._closing:
            self.close()

    def _writable(self) -> None:
        self._loop.remove_writer(self._sock)
        was_full = self.is_full
        self._send()
        if was_full and not self.is_full:
            self.on_drained()

    # --- receiving ---

    def _readable(self) -> None:
        try:
            data = self._sock.recv(_MAX_READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self.on_message(data)
        else:
            self.close()

    def rest(self) -> None:
        """Read no more for now."""
        if not self._closed and not self._resting:
            self._resting = True
            self._loop.remove_reader(self._sock)

    def go_on(self) -> None:
        """Read again."""
        if not self._closed and self._resting:
            self._resting = False
            self._loop.add_reader(self._sock, self._readable)

    # --- the end ---

    def signal_close(self) -> None:
        """Close when all is sent."""
        if self._waiting:
            self._closing = True
        else:
            self.close()

    def close(self) -> None:
        """Close now; what waits is lost."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._waiting.clear()
        self._sock.close()
        self.on_close()
