"""Proxies: servers and clients that cannot reach each other both connect to one.

A server says under which key it can be had, a client which key it wants; the proxy joins the two
and passes on what they say. With a tracker, the proxy puts its servers in there, under its own
address and a key that only the tracker's clients learn.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from tvm.error import RPCError, message
from tvm.runtime import handshake, tls
from tvm.support.json_text import from_json

from . import base, tornado_util
from .base import TrackerCode
from .processes import HasProcess, Process, run_as_process

_LOG = logging.getLogger(__name__)
_INT: Final = struct.Struct("<i")
_MAX_TEXT: Final = 1 << 16
_MAX_ANSWER: Final = 1 << 24
_UNUSED_S: Final = 6.0  # a key that was handed out and not used for so long is taken back
_LOOK_S: Final = 2.0  # how often the tracker is asked which keys it still has
_HANDSHAKE_S: Final = 10.0
_MAX_GUESTS: Final = 256  # who have not said yet who they are
_PAUSE_S: Final = 0.2  # where no connection can be accepted


def _text(value: str) -> bytes:
    data = value.encode()
    return _INT.pack(len(data)) + data


class ForwardHandler:
    """One end of a joined pair, from its greeting to its end."""

    rpc_key: str = ""  # as it was said: server:KEY or client:KEY
    match_key: str = ""  # the key alone
    options: str = ""  # what a client wants of its session
    forward_proxy: ForwardHandler | None = None
    proxy: ProxyServerHandler
    _came: bytearray
    _greeting: base.Greeting

    # --- what the kind of connection defines ---

    def name(self) -> str:
        """Who it is, for messages."""
        raise NotImplementedError  # abstract

    def send_data(self, message: bytes, binary: bool = True) -> None:
        """Send to this end."""
        raise NotImplementedError  # abstract

    def signal_close(self) -> None:
        """Close when all is sent."""
        raise NotImplementedError  # abstract

    # --- from the greeting on ---

    def on_data(self, message: bytes) -> None:
        """Bytes have come: part of the greeting, or for the other end."""
        if self._greeting.text is not None:
            self._pass_on(message)
            return
        self._came += message
        try:
            self._greet()
        except handshake.StrangerError as err:
            _LOG.warning("%s: %s", self.name(), err)
            self.send_data(err.answer)
            self.signal_close()
        except (ValueError, RPCError) as err:
            self.on_error(err)

    def _pass_on(self, message: bytes) -> None:
        if self.forward_proxy is None:
            self._came += message  # it speaks before it is answered: kept for the other end
            if len(self._came) > _MAX_TEXT:
                self.on_error(RPCError("it sends before it is joined"))
        else:
            self.forward_proxy.send_data(message)

    def _greet(self) -> None:
        greeting = self._greeting
        while (wants := greeting.wants) and self._came:
            part = bytes(self._came[:wants])
            del self._came[:wants]
            if answer := greeting.feed(part):
                self.send_data(answer)
        if greeting.text is None:
            return
        self.rpc_key, _, self.options = greeting.text.partition(" ")
        kind, colon, self.match_key = self.rpc_key.partition(":")
        if kind not in ("server", "client") or not colon:
            raise RPCError(f"neither server nor client: {self.rpc_key!r}")
        self.on_start()

    def on_start(self) -> None:
        """The greeting is complete."""
        self.proxy.handler_ready(self)

    def join(self, other: ForwardHandler) -> None:
        """From now on what comes goes to the other end."""
        self.forward_proxy = other
        key = f"{other.rpc_key} {other.options}".rstrip()
        self.send_data(_INT.pack(base.RPC_CODE_SUCCESS) + _text(key))
        early, self._came = bytes(self._came), bytearray()
        if early:
            other.send_data(early)

    def refuse(self, code: int) -> None:
        """Say why there is no session, and close."""
        self.send_data(_INT.pack(code))
        self.signal_close()

    # --- the end ---

    def on_error(self, err: Exception) -> None:
        """Something came that has no meaning."""
        _LOG.warning("%s: error in RPC proxy: %s", self.name(), err)
        self.close_pair()

    def close_pair(self) -> None:
        """Close both ends."""
        other, self.forward_proxy = self.forward_proxy, None
        if other is not None:
            other.forward_proxy = None
            other.signal_close()
        self.signal_close()

    def on_close_event(self) -> None:
        """This end is gone."""
        self.proxy.forget(self)
        self.close_pair()


class TCPHandler(tornado_util.TCPHandler, ForwardHandler):
    """An end that is connected by TCP."""

    def __init__(self, sock: socket.socket, addr: Any) -> None:
        super().__init__(sock)
        self._addr = addr
        self._came, self._greeting = bytearray(), base.Greeting(base.RPC_MAGIC)

    def name(self) -> str:
        """Who it is, for messages."""
        return f"TCPSocketProxy:{self._addr!s}:{self.rpc_key}"

    def send_data(self, message: bytes, binary: bool = True) -> None:
        """Send to this end; while too much waits, the other one is not read."""
        self.write_message(message, binary)
        other = self.forward_proxy
        if self.is_full and isinstance(other, TCPHandler):
            other.rest()

    def on_message(self, message: bytes) -> None:
        """Bytes have come."""
        self.on_data(message)

    def signal_close(self) -> None:
        """Close when all is sent."""
        super().signal_close()

    def on_drained(self) -> None:
        """The other end may be read again."""
        if isinstance(self.forward_proxy, TCPHandler):
            self.forward_proxy.go_on()

    def on_close(self) -> None:
        """The connection is gone."""
        self.on_close_event()


class ProxyServerHandler:
    """The proxy itself: who waits for whom, and the loop over all connections."""

    def __init__(
        self,
        sock: tls.Gate,
        listen_port: int,
        web_port: int,
        timeout_client: float,
        timeout_server: float,
        tracker_addr: tuple[str, int] | None,
        index_page: str | None = None,
        resource_files: Any = None,
    ) -> None:
        if web_port or index_page or resource_files:
            raise RPCError(
                message(
                    "a proxy with web_port, index_page or resource_files",
                    found="no web server in this installation",
                    legal="connections by TCP",
                )
            )
        self._sock, self._listen_port = sock, listen_port
        self._timeouts = {"client": float(timeout_client), "server": float(timeout_server)}
        self._waiting: dict[str, dict[str, ForwardHandler]] = {"server": {}, "client": {}}
        self._tracker = _AtTracker(tracker_addr, listen_port) if tracker_addr else None
        self._tasks: set[asyncio.Task[None]] = set()
        self._guests: dict[TCPHandler, None] = {}  # who has not greeted yet, the oldest first

    # --- who gets whom ---

    def handler_ready(self, handler: ForwardHandler) -> None:
        """A server or client has said its key: join it with one that waits, or let it wait."""
        kind = handler.rpc_key.partition(":")[0]
        self._guests.pop(handler, None)  # type: ignore[call-overload]
        if self._tracker is None:
            self._match(handler, kind, "client" if kind == "server" else "server")
        elif kind == "server":
            self._offer(handler)
        elif (server := self._waiting["server"].pop(handler.match_key, None)) is not None:
            _join(server, handler)
        else:
            handler.refuse(base.RPC_CODE_MISMATCH)

    def _match(self, handler: ForwardHandler, kind: str, wanted: str) -> None:
        key = handler.match_key
        other = self._waiting[wanted].pop(key, None)
        if other is not None:
            _join(*((handler, other) if kind == "server" else (other, handler)))
        elif key in self._waiting[kind]:
            _LOG.info("Duplicate connection with same key=%s", key)
            handler.refuse(base.RPC_CODE_DUPLICATE)
        else:
            self._waiting[kind][key] = handler
            loop = asyncio.get_running_loop()
            loop.call_later(self._timeouts[kind], self._give_up, handler, kind)

    def _give_up(self, handler: ForwardHandler, kind: str) -> None:
        if self._waiting[kind].get(handler.match_key) is handler:
            _LOG.info("Timeout of %s, cannot find match key=%s", kind, handler.match_key)
            del self._waiting[kind][handler.match_key]
            handler.refuse(base.RPC_CODE_MISMATCH)

    def forget(self, handler: ForwardHandler) -> None:
        """An end is gone that may have waited."""
        self._guests.pop(handler, None)  # type: ignore[call-overload]
        for waiting in self._waiting.values():
            if waiting.get(handler.match_key) is handler:
                del waiting[handler.match_key]

    # --- at a tracker ---

    def _offer(self, server: ForwardHandler) -> None:
        """Put a server in at the tracker, under a key that nobody knows yet."""
        assert self._tracker is not None
        name = server.rpc_key.partition(":")[2]
        self.forget(server)
        server.match_key = base.random_key(name, cmap=self._waiting["server"])
        self._waiting["server"][server.match_key] = server
        task = asyncio.get_running_loop().create_task(self._tracker.put(name, server.match_key))
        self._tasks.add(task)  # the loop itself does not hold it
        task.add_done_callback(self._tasks.discard)

    async def _look(self) -> None:
        """Take keys back that were handed out and are not used; keep the tracker informed."""
        assert self._tracker is not None
        unknown_since: dict[str, float] = {}
        while True:
            await asyncio.sleep(_LOOK_S)
            known, now = await self._tracker.known(), time.monotonic()
            servers = self._waiting["server"]
            unknown_since = {
                key: unknown_since.get(key, now) for key in servers if key not in known
            }
            for key, since in unknown_since.items():
                if now - since > _UNUSED_S:
                    self._offer(servers[key])

    # --- the loop ---

    def run(self) -> None:
        """Join and pass on until the process ends."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._sock.settimeout(0)
        if self._tracker is not None:
            self._tasks.add(asyncio.get_running_loop().create_task(self._look()))
        self._attend()
        await asyncio.Event().wait()  # that never comes

    def _attend(self) -> None:
        asyncio.get_running_loop().add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            sock, addr = self._sock.accept()
        except BlockingIOError:
            return
        except OSError as err:  # no file descriptors are left, say: the others go on
            _LOG.warning("no connection: %s", err)
            loop.remove_reader(self._sock)
            loop.call_later(_PAUSE_S, self._attend)
            return
        tls.send_at_once(sock)
        handler = TCPHandler(sock, addr)
        handler.proxy = self
        self._guests[handler] = None
        if len(self._guests) > _MAX_GUESTS:
            next(iter(self._guests)).close()
        loop.call_later(_HANDSHAKE_S, _require_greeting, handler)


def _join(server: ForwardHandler, client: ForwardHandler) -> None:
    server.forward_proxy, client.forward_proxy = client, server
    server.join(client)
    client.join(server)


def _require_greeting(handler: TCPHandler) -> None:
    if not handler.rpc_key:
        handler.close()


class _AtTracker:
    """The proxy's entry at a tracker, which may come and go."""

    def __init__(self, addr: tuple[str, int], port: int) -> None:
        self._addr, self._port = (str(addr[0]), int(addr[1])), port
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._turn = asyncio.Lock()

    async def put(self, name: str, match_key: str) -> None:
        """A server of this name is free."""
        await self._ask(TrackerCode.PUT, name, [self._port, match_key], None)

    async def known(self) -> frozenset[str]:
        """The keys that the tracker has; none if it is not there."""
        found = await self._ask(TrackerCode.GET_PENDING_MATCHKEYS)
        return frozenset(found) if isinstance(found, list) else frozenset()

    async def _ask(self, *what: Any) -> Any:
        async with self._turn:
            try:
                return await asyncio.wait_for(self._answer(list(what)), _HANDSHAKE_S)
            except (OSError, ValueError, EOFError, RPCError, asyncio.TimeoutError) as err:
                _LOG.warning("the proxy does not reach its tracker: %s", err)
                if self._pipe is not None:
                    self._pipe[1].close()
                    self._pipe = None
                return None

    async def _answer(self, what: list[Any]) -> Any:
        if self._pipe is None:
            context = tls.client_context()
            name = tls.NAME if context is not None else None
            self._pipe = await asyncio.open_connection(
                *self._addr, ssl=context, server_hostname=name
            )
            reader, writer = self._pipe
            end = handshake.Connector(base.RPC_TRACKER_MAGIC)
            writer.write(end.first)
            writer.write(end.second(await reader.readexactly(end.SECOND_BYTES)))
            end.finish(await reader.readexactly(end.FINAL_BYTES))
        reader, writer = self._pipe
        writer.write(_text(json.dumps(what)))
        (size,) = _INT.unpack(await reader.readexactly(_INT.size))
        if not 0 <= size <= _MAX_ANSWER:
            raise RPCError(f"an answer of {size} bytes from the tracker")
        return from_json((await reader.readexactly(size)).decode())


# --- what users start ---


def serve(
    ready: Callable[[int], None], host: str, port: int, port_end: int, **options: Any
) -> None:
    """Join servers and clients for ever."""
    sock = base.listen(host, port, port_end)
    handler = ProxyServerHandler(sock, sock.getsockname()[1], **options)
    ready(sock.getsockname()[1])
    handler.run()


class PopenProxyServerState:
    """A proxy in a thread of this process."""

    def __init__(
        self,
        host: str,
        port: int = 9091,
        port_end: int = 9199,
        web_port: int = 0,
        timeout_client: float = 600,
        timeout_server: float = 600,
        tracker_addr: tuple[str, int] | None = None,
        index_page: str | None = None,
        resource_files: Any = None,
    ) -> None:
        sock = base.listen(host, int(port), int(port_end))
        self.host, self.port = host, sock.getsockname()[1]
        handler = ProxyServerHandler(
            sock, self.port, web_port, timeout_client, timeout_server, tracker_addr, index_page,
            resource_files,
        )  # fmt: skip
        self.thread = threading.Thread(target=handler.run, daemon=True)
        self.thread.start()


class Proxy(HasProcess):
    """A proxy in a process of its own; it ends with this object.

    `tvm.rpc.Server(proxy.host, proxy.port, is_proxy=True, key=...)` waits there for clients, which
    `tvm.rpc.connect(proxy.host, proxy.port, key)`. Clients and servers wait `timeout_client` and
    `timeout_server` seconds for each other.
    """

    def __init__(
        self,
        host: str,
        port: int = 9091,
        port_end: int = 9199,
        web_port: int = 0,
        timeout_client: float = 600,
        timeout_server: float = 600,
        tracker_addr: tuple[str, int] | None = None,
        index_page: str | None = None,
        resource_files: Any = None,
    ) -> None:
        options = {
            "host": host, "port": int(port), "port_end": int(port_end), "web_port": web_port,
            "timeout_client": timeout_client, "timeout_server": timeout_server,
            "tracker_addr": tracker_addr, "index_page": index_page,
            "resource_files": resource_files,
        }  # fmt: skip
        self.host = host
        self.proc = Process("tvm.rpc.proxy", options, silent=False)
        self.port = self.proc.port


if __name__ == "__main__":
    run_as_process(serve)
