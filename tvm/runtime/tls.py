"""Where to listen, how to connect; TLS for what leaves this machine.

A folder holds what both ends need, each end its own `cert.pem` and `key.pem`, and the `ca.pem` that
signed all of them (`python -m tvm.exec.rpc_certificate` makes one). TVM_RPC_TLS names it. Both ends
show a certificate of that authority; then they shake hands over a secret (`handshake`).

Programs here wait for many connections in many ways, and hand some of them to other processes, so
none of them knows of TLS: a thread with an event loop encrypts and passes on, and they have one end
of a pair of plain sockets.

    program <-- socket pair --> this thread <-- TLS --> the other machine
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import logging
import os
import socket
import ssl
import threading
from collections import deque
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from tvm.error import RPCError, message

_LOG = logging.getLogger(__name__)
NAME: Final = "tvm-rpc"  # whom certificates are for: an end of these programs, on any machine
_ENV: Final = "TVM_RPC_TLS"
_OFF: Final = "off"
_HANDSHAKE_S: Final = 10.0
_PIECE: Final = 1 << 18
_MAX_CONNECTIONS: Final = 1024  # of one gate
_ANYWHERE: Final = ("", "0.0.0.0", "::")


# --- where to listen ---


def bind_address(host: str) -> str:
    """Where to listen: nobody outside of this machine is let in without a secret and TLS.

    Raises RPCError where an address of the network is asked for without them; "everywhere" is
    this machine then.
    """
    if _is_this_machine(host):
        return host
    lacks = [
        said
        for said, there in (
            ("no secret in TVM_RPC_TOKEN", os.environ.get("TVM_RPC_TOKEN")),
            (f"no certificates in {_ENV}", os.environ.get(_ENV)),
        )
        if not there
    ]
    if not lacks:
        return host
    if host in _ANYWHERE:
        _LOG.warning("listening on this machine only: %s", ", ".join(lacks))
        return "127.0.0.1"
    raise RPCError(
        message(
            f"listen on {host}, which other machines reach",
            found=", ".join(lacks),
            legal="TVM_RPC_TOKEN=SECRET and TVM_RPC_TLS=FOLDER (TVM_RPC_TLS=off within a tunnel "
            "that encrypts), or the address 127.0.0.1",
        )
    )


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


# --- certificates ---


def folder() -> Path | None:
    """Where the certificates lie, None without TLS."""
    given = os.environ.get(_ENV, "")
    return Path(given) if given not in ("", _OFF) else None


def server_context() -> ssl.SSLContext | None:
    """How to accept: from those alone who show a certificate of the authority."""
    return _context(ssl.PROTOCOL_TLS_SERVER)


def client_context() -> ssl.SSLContext | None:
    """How to connect: to those alone who show a certificate of the authority."""
    return _context(ssl.PROTOCOL_TLS_CLIENT)


def _context(side: Any) -> ssl.SSLContext | None:
    where = folder()
    if where is None:
        return None
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(where / "ca.pem")
        context.load_cert_chain(where / "cert.pem", where / "key.pem")
    except (OSError, ValueError) as err:
        raise RPCError(
            message(
                f"certificates of {_ENV}={where}",
                found=f"{type(err).__name__}: {err}",
                legal="a folder with ca.pem, cert.pem and key.pem, as "
                "`python -m tvm.exec.rpc_certificate FOLDER` makes them",
            )
        ) from err
    context.verify_mode = ssl.CERT_REQUIRED
    return context


# --- the thread that encrypts ---


@functools.cache
def _loop_of(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=f"tls-{process}", daemon=True).start()
    return loop


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    # a copy of a process has no copy of its threads
    return asyncio.run_coroutine_threadsafe(work, _loop_of(os.getpid())).result()


async def _pass_on(
    plain: socket.socket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Both ways, until one end closes."""
    loop = asyncio.get_running_loop()

    async def out() -> None:
        while data := await loop.sock_recv(plain, _PIECE):
            writer.write(data)
            await writer.drain()

    async def back() -> None:
        while data := await reader.read(_PIECE):
            await loop.sock_sendall(plain, data)

    ways = [asyncio.ensure_future(out()), asyncio.ensure_future(back())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        plain.close()
        writer.close()
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), _HANDSHAKE_S)


def _pair() -> tuple[socket.socket, socket.socket]:
    mine, theirs = socket.socketpair()
    mine.setblocking(False)
    return mine, theirs


# --- connecting ---


def dial(addr: tuple[str, int], timeout: float | None = None) -> socket.socket:
    """A connection, encrypted where TVM_RPC_TLS says so; OSError where there is none.

    RPCError if the other end is not one of those whom the certificates are for.
    """
    context = client_context()
    sock = socket.create_connection(addr, timeout)
    if context is None:
        return sock
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    try:
        found: socket.socket = _run(_dialled(sock, context))
    except ssl.SSLError as err:
        raise _no_peer(addr, err) from err
    except (ConnectionError, asyncio.TimeoutError) as err:
        raise _no_peer(addr, err) from err
    found.settimeout(timeout)
    return found


def _no_peer(addr: tuple[str, int], err: Exception) -> RPCError:
    return RPCError(
        message(
            f"connect to {addr[0]}:{addr[1]} by TLS",
            found=f"{type(err).__name__}: {err}",
            legal=f"the same authority in ca.pem of {_ENV} at both ends",
        )
    )


async def _dialled(sock: socket.socket, context: ssl.SSLContext) -> socket.socket:
    try:
        reader, writer = await asyncio.open_connection(
            sock=sock, ssl=context, server_hostname=NAME, ssl_handshake_timeout=_HANDSHAKE_S
        )
    except BaseException:
        sock.close()
        raise
    mine, theirs = _pair()
    _keep(asyncio.ensure_future(_pass_on(mine, reader, writer)))
    return theirs


_tasks: Final[set[asyncio.Future[None]]] = set()  # a loop itself does not hold what it runs


def _keep(task: asyncio.Future[None]) -> None:
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


# --- accepting ---


class Gate:
    """A listening socket whose `accept` gives connections that have shaken hands by TLS.

    It can be waited for by `fileno`, as a socket can. Without TLS it is the socket itself that
    accepts. At most 1024 connections pass at a time; more wait to be accepted.
    """

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._context = server_context()
        if self._context is not None:
            self._bell, self._ring = socket.socketpair()
            self._ready: deque[tuple[socket.socket, Any]] = deque()
            self._count = 0
            listening.setblocking(False)
            self._server = _run(self._open())

    async def _open(self) -> asyncio.Server:
        return await asyncio.start_server(
            self._enter, sock=self._listening, ssl=self._context,
            ssl_handshake_timeout=_HANDSHAKE_S,
        )  # fmt: skip

    async def _shut(self) -> None:
        self._server.close()

    async def _enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._count >= _MAX_CONNECTIONS:
            _LOG.warning("more than %d connections", _MAX_CONNECTIONS)
            writer.close()
            return
        self._count += 1
        mine, theirs = _pair()
        try:
            self._ready.append((theirs, writer.get_extra_info("peername")))
            self._ring.send(b"!")
            await _pass_on(mine, reader, writer)
        except OSError as err:
            _LOG.warning("a connection by TLS: %s", err)
        finally:
            self._count -= 1

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection and the address of its other end."""
        if self._context is None:
            return self._listening.accept()
        if not self._bell.recv(1):
            raise OSError("it listens no more")
        return self._ready.popleft()

    def fileno(self) -> int:
        """What becomes readable when there is a connection."""
        return (self._listening if self._context is None else self._bell).fileno()

    def getsockname(self) -> Any:
        """The address that it listens on."""
        return self._listening.getsockname()

    def settimeout(self, seconds: float | None) -> None:
        """How long `accept` waits."""
        (self._listening if self._context is None else self._bell).settimeout(seconds)

    def close(self) -> None:
        """Listen no more; what was accepted stays."""
        if self._context is not None:
            _run(self._shut())  # it forgets the socket before its number is another's
            self._bell.close()
            self._ring.close()
        self._listening.close()


def send_at_once(sock: socket.socket) -> None:
    """Let small messages not wait for more; where the socket is one of a pair, they never do."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
