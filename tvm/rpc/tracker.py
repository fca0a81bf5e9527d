"""Trackers: servers put themselves in, clients ask for one by key and wait for their turn."""

from __future__ import annotations

import contextlib
import heapq
import logging
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, Final

from tvm.error import RPCError
from tvm.runtime import handshake, tls
from tvm.support.json_text import from_json

from . import base
from .base import TrackerCode
from .processes import HasProcess, Process, in_thread, run_as_process

_LOG = logging.getLogger(__name__)
_INT: Final = struct.Struct("<i")
_MAX_BYTES: Final = 1 << 20  # of one message
_MAX_SERVERS: Final = 4096  # of one connection, which wait at a time
_HANDSHAKE_S: Final = 10.0
_MAX_GUESTS: Final = 256  # who have not said yet who they are
_PAUSE_S: Final = 0.05  # where no connection can be accepted
_ANSWER_S: Final = 2.0  # who does not take an answer for so long is gone
_LOOK_S: Final = 1.0  # how often those who say nothing are looked for


class Scheduler:
    """Who gets which of the resources of a key."""

    def put(self, value: Any) -> None:
        """A resource has become free."""
        raise NotImplementedError  # abstract

    def request(self, user: str, priority: int, callback: Callable[[Any], bool]) -> None:
        """Somebody wants a resource; the callback says whether it still does."""
        raise NotImplementedError  # abstract

    def remove(self, value: Any) -> None:
        """A resource is gone."""

    def summary(self) -> dict[str, int]:
        """How many are free, and how many wait."""
        raise NotImplementedError  # abstract


class PriorityScheduler(Scheduler):
    """The highest priority first; who came first among equals."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._turn = 0
        self._values: list[Any] = []
        self._requests: list[tuple[int, int, Callable[[Any], bool]]] = []

    def _schedule(self) -> None:
        while self._requests and self._values:
            value = self._values.pop(0)
            _, _, callback = heapq.heappop(self._requests)
            if callback(value):
                value[0].pending_matchkeys.discard(value[2])
            else:
                self._values.append(value)

    def put(self, value: Any) -> None:
        """A resource has become free."""
        self._values.append(value)
        self._schedule()

    def request(self, user: str, priority: int, callback: Callable[[Any], bool]) -> None:
        """Somebody wants a resource."""
        heapq.heappush(self._requests, (-priority, self._turn, callback))
        self._turn += 1
        self._schedule()

    def remove(self, value: Any) -> None:
        """A resource is gone."""
        if value in self._values:
            self._values.remove(value)
            self._schedule()

    def summary(self) -> dict[str, int]:
        """How many are free, and how many wait."""
        return {"free": len(self._values), "pending": len(self._requests)}


def _text(value: Any) -> str:
    """A key or a name of a message."""
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} where text belongs")
    return value


def _number(value: Any) -> int:
    """A whole number of a message."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r} where a whole number belongs")
    return value


class TCPEventHandler:
    """One connection of a tracker: collects bytes to messages and answers them."""

    def __init__(
        self, tracker: TrackerServerHandler, sock: socket.socket, addr: tuple[str, int]
    ) -> None:
        self._tracker, self._sock, self._addr = tracker, sock, addr
        self._data = bytearray()
        self._end = handshake.Acceptor(base.RPC_TRACKER_MAGIC)
        self._info: dict[str, Any] = {}
        self._put_values: list[Any] = []
        self.pending_matchkeys: set[str] = set()
        sock.settimeout(_ANSWER_S)
        self._until = time.monotonic() + _HANDSHAKE_S

    def name(self) -> str:
        """Who it is, for messages."""
        return f"TCPSocket: {self._addr}"

    def summary(self) -> dict[str, Any]:
        """What the other end has told of itself."""
        return self._info

    def on_readable(self) -> None:
        """Bytes have come, or the end."""
        try:
            piece = self._sock.recv(1 << 16)
            if not piece:
                self.on_close()
                return
            self._data += piece
            while (message := self._next()) is not None:
                self.on_message(message)
        except Exception as err:  # whatever one says, the others stay
            with contextlib.suppress(OSError):
                self._sock.sendall(getattr(err, "answer", b""))
            self.on_error(err)

    def is_guest(self) -> bool:
        """It has not said yet who it is."""
        return not self._end.done

    def is_late(self) -> bool:
        """It has had the time to say who it is, and has not."""
        return self.is_guest() and time.monotonic() > self._until

    def _next(self) -> bytes | None:
        end = self._end
        while not end.done:
            if len(self._data) < end.wants:
                return None
            part = bytes(self._data[: end.wants])
            del self._data[: len(part)]
            self._sock.sendall(end.feed(part))
        if len(self._data) < _INT.size:
            return None
        (size,) = _INT.unpack_from(self._data)
        if not 0 <= size <= _MAX_BYTES:
            raise ValueError(f"a message of {size} bytes")
        if len(self._data) < _INT.size + size:
            return None
        found = bytes(self._data[_INT.size : _INT.size + size])
        del self._data[: _INT.size + size]
        return found

    def on_message(self, message: bytes) -> None:
        """One message has come whole."""
        self.call_handler(from_json(message.decode()))

    def ret_value(self, data: Any) -> None:
        """Answer."""
        base.sendjson(self._sock, data)

    def call_handler(self, args: list[Any]) -> None:
        """Do what a message asks for."""
        if not isinstance(args, list) or not args:
            raise ValueError("a message that is no list")
        code = args[0]
        if code == TrackerCode.PUT:
            self._put(_text(args[1]), args[2], args[3] if len(args) > 3 else None)
        elif code == TrackerCode.REQUEST:
            key, user, priority = _text(args[1]), _text(args[2]), _number(args[3])
            self._tracker.request(key, user, priority, self._lend)
        elif code == TrackerCode.PING:
            self.ret_value(TrackerCode.SUCCESS)
        elif code == TrackerCode.GET_PENDING_MATCHKEYS:
            self.ret_value(sorted(self.pending_matchkeys))
        elif code == TrackerCode.STOP:
            if self._tracker.stop_key == args[1]:
                self.ret_value(TrackerCode.SUCCESS)
                self._tracker.stop()
            else:
                self.ret_value(TrackerCode.FAIL)
        elif code == TrackerCode.UPDATE_INFO:
            info = args[1]
            if not isinstance(info, dict):
                raise ValueError("information that is no map")
            if info.get("addr") and info["addr"][0] is None:
                info["addr"][0] = self._addr[0]
            self._info.update(info)
            self.ret_value(TrackerCode.SUCCESS)
        elif code == TrackerCode.SUMMARY:
            self.ret_value([TrackerCode.SUCCESS, self._tracker.summary()])
        else:
            raise ValueError(f"an unknown code {code}")

    def _put(self, key: str, entry: list[Any], address: str | None) -> None:
        port, match_key = _number(entry[0]), _text(entry[1])
        if not 0 < port < 1 << 16 or not isinstance(address, str | None):
            raise ValueError(f"a server at {address!r}, port {port}")
        if len(self._put_values) >= _MAX_SERVERS:
            self._put_values = [(k, v) for k, v in self._put_values
                                if v[2] in self.pending_matchkeys]  # fmt: skip
        if len(self._put_values) >= _MAX_SERVERS:
            raise ValueError(f"more than {_MAX_SERVERS} servers of one connection")
        value = (self, port, match_key, address or self._addr[0])
        self.pending_matchkeys.add(match_key)
        self._put_values.append((key, value))
        self._tracker.put(key, value)
        self.ret_value(TrackerCode.SUCCESS)

    def _lend(self, value: Any) -> bool:
        """Give a resource to who asks here; False if nobody is there any more."""
        if self._sock.fileno() < 0:
            return False
        try:
            self.ret_value([TrackerCode.SUCCESS, [value[3], value[1], value[2]]])
        except OSError:
            return False
        return True

    def on_close(self) -> None:
        """The other end is gone, and what it has put in."""
        self._tracker.close(self)
        for key, value in self._put_values:
            self._tracker.remove(key, value)
        self._sock.close()

    def on_error(self, err: Exception) -> None:
        """Something came that has no meaning."""
        _LOG.warning("%s: error in RPC tracker: %s", self.name(), err)
        self.on_close()


class TrackerServerHandler:
    """The tracker itself: a loop over its connections."""

    def __init__(self, sock: tls.Gate, stop_key: str) -> None:
        self._scheduler_map: dict[str, PriorityScheduler] = {}
        self._sock = sock
        self.stop_key = stop_key
        self._connections: dict[socket.socket, TCPEventHandler] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(sock, selectors.EVENT_READ)
        self._running = True

    def create_scheduler(self, key: str) -> PriorityScheduler:
        """The scheduler of a new key."""
        return PriorityScheduler(key)

    def _scheduler(self, key: str) -> PriorityScheduler:
        if key not in self._scheduler_map:
            self._scheduler_map[key] = self.create_scheduler(key)
        return self._scheduler_map[key]

    def put(self, key: str, value: Any) -> None:
        """A resource has become free."""
        self._scheduler(key).put(value)

    def request(self, key: str, user: str, priority: int, callback: Callable[[Any], bool]) -> None:
        """Somebody wants a resource of a key."""
        self._scheduler(key).request(user, priority, callback)

    def remove(self, key: str, value: Any) -> None:
        """A resource is gone."""
        self._scheduler(key).remove(value)

    def close(self, conn: TCPEventHandler) -> None:
        """Forget a connection."""
        if self._connections.pop(conn._sock, None) is not None:
            self._selector.unregister(conn._sock)

    def stop(self) -> None:
        """End the loop."""
        self._running = False

    def summary(self) -> dict[str, Any]:
        """The free and the waiting by key, and who is there."""
        return {
            "queue_info": {key: s.summary() for key, s in self._scheduler_map.items()},
            "server_info": [info for c in self._connections.values() if (info := c.summary())],
        }

    def run(self) -> None:
        """Serve until somebody who knows the key says stop."""
        while self._running:
            for conn in [c for c in self._connections.values() if c.is_late()]:
                conn.on_error(TimeoutError("it has not said who it is"))
            for event, _ in self._selector.select(_LOOK_S):
                sock: Any = event.fileobj
                if sock is self._sock:
                    self._accept()
                elif sock in self._connections:
                    self._connections[sock].on_readable()
        for conn in list(self._connections.values()):
            conn.on_close()
        self._sock.close()

    def _accept(self) -> None:
        try:
            sock, addr = self._sock.accept()
        except OSError:  # gone before we looked, or no file descriptors are left
            time.sleep(_PAUSE_S)
            return
        guests = [c for c in self._connections.values() if c.is_guest()]
        if len(guests) >= _MAX_GUESTS:
            guests[0].on_error(RPCError("others wait"))
        self._connections[sock] = TCPEventHandler(self, sock, addr)
        self._selector.register(sock, selectors.EVENT_READ)


def serve(
    ready: Callable[[int], None],
    host: str,
    port: int,
    port_end: int,
    stop_key: str,
    reuse_addr: bool = True,
) -> None:
    """Track until told to stop."""
    sock = base.listen(host, port, port_end, reuse_addr)
    ready(sock.getsockname()[1])
    TrackerServerHandler(sock, stop_key).run()


class PopenTrackerServerState:
    """A tracker in a thread of this process."""

    def __init__(
        self,
        host: str,
        port: int = 9190,
        port_end: int = 9199,
        silent: bool = False,
        reuse_addr: bool = True,
        timeout: float | None = None,
    ) -> None:
        if silent:
            _LOG.setLevel(logging.ERROR)
        self.host, self.port = host, int(port)
        self.stop_key = base.random_key("tracker")
        self.thread = in_thread(
            serve, self, host, self.port, int(port_end), self.stop_key, reuse_addr
        )


class Tracker(HasProcess):
    """A tracker in a process of its own; it ends with this object."""

    def __init__(
        self,
        host: str = "0.0.0.0",
        port: int = 9190,
        port_end: int = 9199,
        silent: bool = False,
        reuse_addr: bool = True,
        timeout: float | None = None,
    ) -> None:
        self.host = host
        self.stop_key = base.random_key("tracker")
        options = {
            "host": host, "port": int(port), "port_end": int(port_end),
            "stop_key": self.stop_key, "reuse_addr": reuse_addr,
        }  # fmt: skip
        self.proc = Process("tvm.rpc.tracker", options, silent)
        self.port = self.proc.port


if __name__ == "__main__":
    run_as_process(serve)
