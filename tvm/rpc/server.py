"""Servers: each session runs in a process of its own, one after the other."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import logging
import multiprocessing
import os
import selectors
import socket
import stat
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.util import Finalize
from typing import Any, Final

from tvm.error import RPCError
from tvm.ffi import get_global_func, register_global_func
from tvm.runtime import handshake, tls
from tvm.runtime.module import load_module as _load_module
from tvm.runtime.wire import read_frame, write_frame

from . import base, files, limits
from .base import TrackerCode
from .core import Core
from .processes import HasProcess, Process, in_thread, run_as_process

_LOG = logging.getLogger(__name__)
_PING_S: Final = 2.0  # how often a server that waits looks whether its key is still known
_UNUSED_S: Final = 6.0  # a key that was handed out and not used for so long is taken back
_RETRY_S: Final = 5.0
_FIRST_S: Final = 3.0  # how long the first offer may take; who starts a server waits for it
_GREETING_S: Final = 10.0  # for all of a greeting
_LOOK_S: Final = 1.0  # how often those who are too slow are looked for
_MAX_GUESTS: Final = 64
_FIRST_FILE: Final = 3  # after input, output and errors
_MAX_FILES: Final = 1 << 12


# --- one session ---


def serve_session(sock: socket.socket, libraries: Sequence[str]) -> None:
    """Answer requests until the client goes."""
    for path in libraries:
        ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    tls.send_at_once(sock)
    core = Core()
    os.chdir(files.work_folder())
    source, sink = sock.makefile("rb"), sock.makefile("wb")
    try:
        while (request := read_frame(source)) is not None:
            write_frame(sink, core.answer(request))
    except OSError:  # the client has gone
        pass
    finally:
        os.chdir("/")
        files.clean_up()


def _session_process(sock: socket.socket, libraries: Sequence[str]) -> None:
    limits.apply()
    _close_other_sockets(sock.fileno())
    try:
        serve_session(sock, libraries)
    finally:
        os._exit(0)  # what a session started must not keep its process


def _close_other_sockets(mine: int) -> None:
    """Among those of the process that was copied may be the other end, never to be closed here."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(_FIRST_FILE, _MAX_FILES):
        if number != mine:
            with contextlib.suppress(OSError):  # no file has this number
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    os.dup2(nothing, number)  # the number stays taken: objects here will close it
    os.close(nothing)


def _server_env(load_library: str | None, work_path: Any = None) -> Any:
    """Let this process serve files of a folder, by default a new one, which it returns.

    Registers `tvm.rpc.server.workpath` and `tvm.rpc.server.load_module`; `load_library` names
    libraries to load, with colons between them.
    """
    folder = work_path or importlib.import_module("tvm.contrib.utils").tempdir()

    @register_global_func("tvm.rpc.server.workpath", override=True)
    def workpath(path: str) -> str:
        return str(folder.relpath(path))

    @register_global_func("tvm.rpc.server.load_module", override=True)
    def load_module(file_name: str) -> Any:
        return _load_module(folder.relpath(file_name))

    names = load_library.split(":") if load_library else []
    folder.libs = [ctypes.CDLL(name, ctypes.RTLD_GLOBAL) for name in names]
    return folder


# --- the loop ---


class _Tracked:
    """The entry of a server at its tracker."""

    def __init__(
        self, tracker: tuple[str, int], key: str, port: int, custom_addr: str | None
    ) -> None:
        self._addr = (str(tracker[0]), int(tracker[1]))
        self._key, self._port, self._custom = key, port, custom_addr
        self._sock: socket.socket | None = None
        self.match_key = ""
        self.offered = False
        self._taken_since = 0.0

    def offer_at_once(self) -> None:
        """The first offer; where the tracker does not answer soon, it is left to the next one."""
        try:
            sock = tls.dial(self._addr, _FIRST_S)
            self._introduce(sock)
            self.offer()
            sock.settimeout(None)
        except (OSError, RuntimeError, ValueError) as err:
            _LOG.warning("not at the tracker yet: %s", err)
            self.lost()

    def offer(self) -> None:
        """Say that the server is free, under a key that nobody knows yet."""
        sock = self._connected()
        self.match_key = base.random_key(self._key)
        base.sendjson(sock, [TrackerCode.PUT, self._key, [self._port, self.match_key],
                             self._custom])  # fmt: skip
        if base.recvjson(sock) != TrackerCode.SUCCESS:
            raise RPCError("the tracker refuses this server")
        self.offered, self._taken_since = True, 0.0

    def _connected(self) -> socket.socket:
        if self._sock is None:
            self._introduce(base.connect_with_retry(self._addr))
        assert self._sock is not None
        return self._sock

    def _introduce(self, sock: socket.socket) -> None:
        self._sock = sock
        handshake.connect(sock, base.RPC_TRACKER_MAGIC)
        base.sendjson(sock, [TrackerCode.UPDATE_INFO,
                             {"key": f"server:{self._key}",
                              "addr": [self._custom, self._port]}])  # fmt: skip
        if base.recvjson(sock) != TrackerCode.SUCCESS:
            raise RPCError("the tracker refuses this server")

    def look(self) -> None:
        """Take a key back that was handed out and is not used."""
        sock = self._connected()
        base.sendjson(sock, [TrackerCode.GET_PENDING_MATCHKEYS])
        known = base.recvjson(sock)
        if not isinstance(known, list):
            raise RPCError("the tracker does not tell which keys it has")
        if self.match_key in known:
            self._taken_since = 0.0
        elif not self._taken_since:
            self._taken_since = time.monotonic()
        elif time.monotonic() - self._taken_since > _UNUSED_S:
            self.offer()

    def lost(self) -> None:
        """Begin anew with the next offer."""
        self.offered = False
        if self._sock is not None:
            self._sock.close()
            self._sock = None


def serve(
    ready: Callable[[int], None],
    host: str,
    port: int,
    port_end: int,
    key: str = "",
    tracker_addr: tuple[str, int] | None = None,
    load_library: str | None = None,
    custom_addr: str | None = None,
    reuse_addr: bool = True,
    timeout: float | None = None,
) -> None:
    """Serve for ever."""
    listening = base.listen(host, port, port_end, reuse_addr)
    real_port = listening.getsockname()[1]
    get_global_func("rpc.builtin.alloc")  # import what sessions need once, before they fork
    libraries = load_library.split(":") if load_library else []
    limits.check()
    tracked = None
    if tracker_addr is not None:
        tracked = _Tracked(tracker_addr, key, real_port, custom_addr)
        tracked.offer_at_once()
    ready(real_port)
    lobby = _Lobby(listening)
    while True:
        try:
            if tracked is not None and not tracked.offered:
                tracked.offer()
            sock, session_timeout = _next_client(lobby, key, tracked)
        except (OSError, RuntimeError, ValueError) as err:
            _LOG.warning("connection lost: %s", err)
            if tracked is not None:
                tracked.lost()
                time.sleep(_RETRY_S)
            continue
        if tracked is not None:
            tracked.offered = False
        run_session(sock, libraries, limits.seconds(session_timeout, timeout))


def _next_client(lobby: _Lobby, key: str, tracked: _Tracked | None) -> tuple[socket.socket, float]:
    """The next client that knows the key, and the seconds that its session may take."""
    while True:
        found = lobby.next(_PING_S if tracked else None)
        if found is None:
            assert tracked is not None
            tracked.look()
            continue
        wanted = tracked.match_key if tracked is not None else key
        if (seconds := _let_in(*found, wanted, key)) is not None:
            return found[0], seconds


def _let_in(sock: socket.socket, greeting: str, wanted: str, key: str) -> float | None:
    """The seconds of the session of a client that has asked for this key."""
    asked, *options = greeting.split(" ")
    try:
        if asked == f"client:{wanted}":
            seconds = timeout_of(options)
            base.send_int(sock, base.RPC_CODE_SUCCESS)
            base.send_text(sock, f"server:{key}")
            sock.settimeout(None)
            return seconds
        _LOG.warning("a client with another key")
        base.send_int(sock, base.RPC_CODE_MISMATCH)
    except (OSError, ValueError, RPCError) as err:
        _LOG.warning("no client: %s", err)
    sock.close()
    return None


class _Lobby:
    """Those who have connected and not said yet what they want; a slow one holds up nobody."""

    def __init__(self, listening: tls.Gate) -> None:
        self._listening = listening
        self._guests: dict[socket.socket, tuple[base.Greeting, float]] = {}
        self._left = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ)

    def next(self, seconds: float | None) -> tuple[socket.socket, str] | None:
        """A client and its wish; None when nothing has happened for some seconds."""
        now = time.monotonic()
        for sock, (greeting, deadline) in self._guests.items():  # a session kept them waiting
            self._guests[sock] = (greeting, deadline + now - self._left)
        try:
            return self._next(seconds)
        finally:
            self._left = time.monotonic()

    def _next(self, seconds: float | None) -> tuple[socket.socket, str] | None:
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            for event, _ in self._selector.select(_LOOK_S if self._guests else seconds):
                sock: Any = event.fileobj
                if sock is self._listening:
                    self._accept()
                elif (wish := self._hear(sock)) is not None:
                    return sock, wish
            for sock, (_, deadline) in list(self._guests.items()):
                if time.monotonic() > deadline:
                    self._send_away(sock, "too slow")
        return None

    def _accept(self) -> None:
        try:
            sock, _ = self._listening.accept()
        except OSError:  # gone before we looked
            return
        if len(self._guests) >= _MAX_GUESTS:
            self._send_away(next(iter(self._guests)), "others wait")
        sock.settimeout(_GREETING_S)
        greeting = base.Greeting(base.RPC_MAGIC)
        self._guests[sock] = (greeting, time.monotonic() + _GREETING_S)
        self._selector.register(sock, selectors.EVENT_READ)

    def _hear(self, sock: socket.socket) -> str | None:
        """What a guest wants, once all of it has come."""
        greeting = self._guests[sock][0]
        try:
            piece = sock.recv(greeting.wants)
            if not piece:
                raise OSError("connection reset")
            sock.sendall(greeting.feed(piece))
        except (OSError, ValueError, RPCError) as err:
            with contextlib.suppress(OSError):
                sock.sendall(getattr(err, "answer", b""))
            self._send_away(sock, str(err))
            return None
        if greeting.text is None:
            return None
        self._forget(sock)
        return greeting.text

    def _send_away(self, sock: socket.socket, why: str) -> None:
        _LOG.warning("no client: %s", why)
        self._forget(sock)
        sock.close()

    def _forget(self, sock: socket.socket) -> None:
        del self._guests[sock]
        self._selector.unregister(sock)


def timeout_of(options: Sequence[str]) -> float:
    """The seconds that a client wants for its session; 0 for no limit."""
    for option in options:
        if option.startswith("-timeout="):
            try:
                return base.session_seconds(float(option.partition("=")[2]))
            except ValueError:
                raise RPCError(f"a session with the option {option!r}") from None
    return 0.0


def run_session(sock: socket.socket, libraries: Sequence[str], timeout: float | None) -> None:
    """One session in a process of its own, until it ends or its time is over."""
    how = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(how)
    # what a thread of a program serves ends with the program
    alone = threading.current_thread() is threading.main_thread()
    process = context.Process(target=_session_process, args=(sock, libraries), daemon=not alone)
    process.start()
    sock.close()
    process.join(timeout or None)
    if process.is_alive():
        _LOG.warning("a session took longer than %s seconds", timeout)
        process.kill()
        process.join()


# --- what users start ---


class PopenRPCServerState:
    """A server in a thread of this process."""

    def __init__(
        self,
        host: str,
        port: int = 9091,
        port_end: int = 9199,
        is_proxy: bool = False,
        tracker_addr: tuple[str, int] | None = None,
        key: str = "",
        load_library: str | None = None,
        custom_addr: str | None = None,
        silent: bool = False,
        reuse_addr: bool = True,
        timeout: float | None = None,
    ) -> None:
        from .server_through_proxy import serve_through_proxy

        self.host, self.port = host, int(port)
        if silent:
            _LOG.setLevel(logging.ERROR)
        if is_proxy:
            self.thread = in_thread(
                serve_through_proxy, self, host, self.port, key, load_library, timeout
            )
        else:
            self.thread = in_thread(
                serve, self, host, self.port, int(port_end), key, tracker_addr, load_library,
                custom_addr, reuse_addr, timeout,
            )  # fmt: skip


class Server(HasProcess):
    """A server in a process of its own; it ends with this object.

    With `is_proxy`, host and port are those of a `tvm.rpc.proxy.Proxy`, where the server waits for
    clients. Otherwise, and without a secret (TVM_RPC_TOKEN) and certificates (TVM_RPC_TLS), it
    listens on this machine only. What a session may take is in `tvm.rpc.limits`. With
    `server_init_callback` it runs in a copy of this process, in which the function is called
    first.
    """

    def __init__(
        self,
        host: str = "0.0.0.0",
        port: int = 9091,
        port_end: int = 9199,
        is_proxy: bool = False,
        tracker_addr: tuple[str, int] | None = None,
        key: str = "",
        load_library: str | None = None,
        custom_addr: str | None = None,
        silent: bool = False,
        no_fork: bool = False,
        server_init_callback: Callable[[], Any] | None = None,
        reuse_addr: bool = True,
        timeout: float | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "host": host, "port": int(port), "key": key, "load_library": load_library,
            "timeout": timeout,
        }  # fmt: skip
        if not is_proxy:
            options |= {
                "port_end": int(port_end), "tracker_addr": tracker_addr,
                "custom_addr": custom_addr, "reuse_addr": reuse_addr,
            }  # fmt: skip
        self.host = host
        if server_init_callback is None:
            module = "tvm.rpc.server_through_proxy" if is_proxy else "tvm.rpc.server"
            self.proc = Process(module, options, silent)
        else:
            self.proc = _Forked(server_init_callback, is_proxy, options)
        self.port = self.proc.port


class _Forked:
    """A server in a copy of this process, which knows the functions that are registered here."""

    def __init__(self, prepare: Callable[[], Any], is_proxy: bool, options: dict[str, Any]) -> None:
        from .server_through_proxy import serve_through_proxy

        context: Any = multiprocessing.get_context("fork")
        mine, theirs = context.Pipe()
        serving = serve_through_proxy if is_proxy else serve
        self._process = context.Process(target=_prepared, args=(theirs, prepare, serving, options))
        self._process.start()
        said = mine.recv()
        if isinstance(said, str):
            raise RPCError(said)
        self.port: int = said
        # Python waits for its processes at its end
        Finalize(self, self._process.kill, exitpriority=1)

    def end(self) -> None:
        """End the process and its session."""
        self._process.kill()
        self._process.join()


def _prepared(
    said: Any,
    prepare: Callable[[], Any],
    serving: Callable[..., None],
    options: dict[str, Any],
) -> None:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        prepare()
        serving(said.send, **options)
    except RPCError as err:
        said.send(str(err))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    run_as_process(serve)
