"""Sessions with servers, and with the tracker that lends them out."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvm.error import RPCError, RPCSessionTimeoutError, message
from tvm.runtime import handshake, tls
from tvm.runtime._device import Device, device
from tvm.runtime.module import Module
from tvm.runtime.wire import read_frame, write_frame
from tvm.support.scratch import scratch

from . import base
from .base import TrackerCode
from .core import Core
from .processes import environment
from .remote import Link, RemoteFunction, RPCModule, expected

_LOG = logging.getLogger(__name__)


class RPCSession:
    """A session with a server: its functions, devices, files and modules."""

    def __init__(self, sess: Link) -> None:
        self._sess = sess
        self._tbl_index = sess.index

    def _find(self, name: str) -> Any:
        return self._sess.ask("get", name)

    def _builtin(self, name: str, *args: Any) -> Any:
        return self._sess.builtin(name, *args)

    def system_lib(self) -> Module:
        """The functions that are linked into the server itself."""
        return self._sess.builtin_for(RPCModule, "rpc.builtin.system_lib")

    def get_function(self, name: str) -> Any:
        """A registered function of the server."""
        found = self._find(name)
        if found is None:
            raise AttributeError(
                message(
                    f"the remote function {name!r}",
                    found="no function of this name at the server",
                    legal="registered functions of the server's process",
                )
            )
        return expected(RemoteFunction, found, f"the function {name!r}")

    # --- devices ---

    def device(self, dev_type: str | int, dev_id: int = 0) -> Device:
        """A device of the server."""
        return self._sess.device(device(dev_type, dev_id))

    def cpu(self, dev_id: int = 0) -> Device:
        """The server's CPU."""
        return self.device("cpu", dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """A CUDA device of the server."""
        return self.device("cuda", dev_id)

    def cl(self, dev_id: int = 0) -> Device:
        """An OpenCL device of the server."""
        return self.device("opencl", dev_id)

    def vulkan(self, dev_id: int = 0) -> Device:
        """A Vulkan device of the server."""
        return self.device("vulkan", dev_id)

    def metal(self, dev_id: int = 0) -> Device:
        """A Metal device of the server."""
        return self.device("metal", dev_id)

    def rocm(self, dev_id: int = 0) -> Device:
        """A ROCm device of the server."""
        return self.device("rocm", dev_id)

    def ext_dev(self, dev_id: int = 0) -> Device:
        """An extension device of the server."""
        return self.device("ext_dev", dev_id)

    def hexagon(self, dev_id: int = 0) -> Device:
        """A Hexagon device of the server."""
        return self.device("hexagon", dev_id)

    def webgpu(self, dev_id: int = 0) -> Device:
        """A WebGPU device of the server."""
        return self.device("webgpu", dev_id)

    # --- files and modules ---

    def upload(self, data: Any, target: str | None = None) -> None:
        """Store bytes, or the file of a path, in the session's folder at the server."""
        if isinstance(data, (bytes, bytearray)):
            if target is None:
                raise ValueError(
                    message("upload of bytes", found="no name for them", legal="target=NAME")
                )
            blob = bytes(data)
        else:
            blob = Path(data).read_bytes()
            target = target or os.path.basename(data)
        self._builtin("tvm.rpc.server.upload", target, blob)

    def download(self, path: str) -> bytearray:
        """The content of a file of the session's folder."""
        return bytearray(self._sess.builtin_for(bytes, "tvm.rpc.server.download", path))

    def remove(self, path: str) -> None:
        """Delete a file of the session's folder."""
        self._builtin("tvm.rpc.server.remove", path)

    def listdir(self, path: str) -> list[str]:
        """The names in a folder of the session."""
        found = self._sess.builtin_for(str, "tvm.rpc.server.listdir", path)
        return found.split(",") if found else []

    def load_module(self, path: str) -> Module:
        """The module of an uploaded file; its functions run at the server."""
        name = "tvm.rpc.server.load_module"
        return self._sess.builtin_for(RPCModule, name, os.fspath(path))

    def download_linked_module(self, path: str) -> bytearray:
        """An uploaded object or archive as a shared library, linked at the server."""
        name = "tvm.rpc.server.download_linked_module"
        return bytearray(self._sess.builtin_for(bytes, name, path))


class LocalSession(RPCSession):
    """A session with this very process, to try out what works on servers."""

    def __init__(self) -> None:
        core = Core()
        super().__init__(Link(core.answer))


class PopenSession(RPCSession):
    """A session with a program that it starts: a file of `tvm.rpc.minrpc`, or its content."""

    def __init__(self, binary: str | os.PathLike[str] | bytes | bytearray) -> None:
        super().__init__(Link(_Pipes(binary).exchange))


# --- connections ---


class _Pipes:
    """Requests over pipes to a program, which ends with this object."""

    def __init__(self, binary: str | os.PathLike[str] | bytes | bytearray) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(binary, (bytes, bytearray)):
            self._folder = scratch("tvm-popen-")
            path = os.path.join(self._folder.name, "server.minrpc")
            Path(path).write_bytes(binary)
            os.chmod(path, stat.S_IXUSR | stat.S_IRUSR)
        else:
            path = os.path.abspath(binary)
        self._process = subprocess.Popen(
            [_program(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )

    def exchange(self, request: bytes) -> bytes:
        """Send a request and wait for the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            write_frame(self._process.stdin, request)  # type: ignore[arg-type]
            answer = read_frame(self._process.stdout)  # type: ignore[arg-type]
        except OSError:
            answer = None
        if answer is None:
            code = self._process.poll()
            found = "the program has ended" + ("" if code is None else f" with exit code {code}")
            raise RPCError(message("a remote call", found=found, legal="a new PopenSession"))
        return answer

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet, to a program that is gone
                pipe.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _program(path: str) -> str:
    """The path of a file that can be started."""
    why = ""
    if not os.path.isfile(path):
        why = "no such file"
    elif not stat.S_IMODE(os.stat(path).st_mode) & 0o111:
        why = "a file that is not executable"
    if why:
        legal = "a file that export_library wrote with fcompile=tvm.rpc.with_minrpc(...)"
        raise RPCError(message(f"PopenSession({path!r})", found=why, legal=legal))
    return path


class _Connection:
    """Requests over a socket to a server's session."""

    def __init__(self, sock: socket.socket, timeout_s: float, log: bool) -> None:
        tls.send_at_once(sock)
        self._sock, self._timeout_s, self._log = sock, timeout_s, log
        self._source, self._sink = sock.makefile("rb"), sock.makefile("wb")
        self._began = time.monotonic()

    def __del__(self) -> None:
        for part in (getattr(self, "_source", None), getattr(self, "_sink", None),
                     getattr(self, "_sock", None)):  # fmt: skip
            try:
                if part is not None:
                    part.close()
            except OSError:  # the other end was first
                pass

    def exchange(self, request: bytes) -> bytes:
        """Send a request and wait for the answer."""
        if self._log:
            _LOG.info("RPC request of %d bytes", len(request))
        try:
            write_frame(self._sink, request)
            answer = read_frame(self._source)
        except OSError:
            answer = None
        if answer is not None:
            return answer
        if self._timeout_s and time.monotonic() - self._began >= self._timeout_s * 0.9:
            raise RPCSessionTimeoutError(
                message(
                    "a remote call",
                    found=f"a session that its server ended after {self._timeout_s:g} seconds",
                    legal="a longer session_timeout",
                )
            )
        raise RPCError(
            message(
                "a remote call", found="the server has closed the session", legal="connect again"
            )
        )


def connect(
    url: str,
    port: int,
    key: str = "",
    session_timeout: float = 0,
    session_constructor_args: Sequence[Any] | None = None,
    enable_logging: bool = False,
) -> RPCSession:
    """A session with a server; with `session_constructor_args` one that passes requests on.

    The first of these arguments names the function that makes the further session at the server.
    """
    session_timeout = base.session_seconds(session_timeout)
    options = f" -timeout={session_timeout:g}" if session_timeout else ""
    try:
        sock = tls.dial((url, int(port)), timeout=60)
    except OSError as err:
        raise RPCError(
            message(
                f"connect to {url}:{port}",
                found=str(err),
                legal="the address of a tvm.rpc.Server",
            )
        ) from err
    try:
        code = _greet(sock, f"client:{key}{options}")
    except handshake.StrangerError as err:
        sock.close()
        raise RPCError(f"connect to {url}:{port}: {err}") from err
    except (OSError, ValueError, RPCError) as err:
        sock.close()
        raise RPCError(f"{url}:{port} is not an RPC server: {err}") from err
    if code != base.RPC_CODE_SUCCESS:
        sock.close()
        why = {
            base.RPC_CODE_MISMATCH: f"its key is not {key!r}",
            base.RPC_CODE_DUPLICATE: f"the key {key!r} is taken",
        }
        raise RPCError(
            message(f"connect to {url}:{port}", found=why.get(code, "it is not an RPC server"))
        )
    sock.settimeout(None)
    connection = _Connection(sock, session_timeout, enable_logging)
    sess = RPCSession(Link(connection.exchange))
    if session_constructor_args:
        name, *rest = session_constructor_args
        sess._sess.ask("init", name, rest)
    return sess


def _greet(sock: socket.socket, key: str) -> int:
    """Say who we are; the code that the server answers."""
    handshake.connect(sock, base.RPC_MAGIC, math.inf)  # the server may be busy
    base.send_text(sock, key)
    sock.settimeout(None)  # or the server of a proxy is not there yet
    code = base.recv_int(sock)
    if code == base.RPC_CODE_SUCCESS:
        base.recv_text(sock)  # the server's own key
    return code


def connect_tracker(url: str, port: int) -> TrackerSession:
    """A session with a tracker, which knows servers by key."""
    return TrackerSession((url, port))


class TrackerSession:
    """Asks a tracker for servers."""

    def __init__(self, addr: tuple[str, int]) -> None:
        self._addr = addr
        self._sock: socket.socket | None = None
        self._turn = threading.Lock()
        self._connect()

    def __del__(self) -> None:
        self.close()

    def _connect(self) -> None:
        sock = base.connect_with_retry(self._addr)
        try:
            handshake.connect(sock, base.RPC_TRACKER_MAGIC)
        except handshake.StrangerError:
            sock.close()
            raise
        except (OSError, RPCError) as err:
            sock.close()
            raise RuntimeError(f"{self._addr} is not RPC Tracker: {err}") from err
        self._sock = sock

    def close(self) -> None:
        """End the session with the tracker."""
        sock = getattr(self, "_sock", None)
        if sock is not None:
            sock.close()
            self._sock = None

    def _ask(self, *what: Any) -> Any:
        if self._sock is None:
            self._connect()
        assert self._sock is not None
        with self._turn:
            base.sendjson(self._sock, [*what])
            try:
                answer = base.recvjson(self._sock)
            except (ValueError, RPCError) as err:
                raise RuntimeError(f"{self._addr} is not RPC Tracker: {err}") from err
        if not isinstance(answer, list) or len(answer) < 2 or answer[0] != TrackerCode.SUCCESS:
            raise RuntimeError(f"the tracker at {self._addr} refuses: {answer}")
        return answer[1]

    def summary(self) -> dict[str, Any]:
        """`queue_info` by key (free and pending), and `server_info` of each server."""
        return expected(dict, self._ask(TrackerCode.SUMMARY), "the summary")

    def text_summary(self) -> str:
        """The summary as tables for people."""
        data = self.summary()
        total: dict[str, int] = {}
        servers = []
        for item in data["server_info"]:  # as servers themselves say it
            addr, name = item.get("addr"), str(item.get("key", ""))
            key = name.partition(":")[2]
            address = ":".join(map(str, addr)) if isinstance(addr, list) else "-"
            servers.append((address, name))
            total[key] = total.get(key, 0) + 1
        width = max([len(key) for key in data["queue_info"]] + [3])
        lines = ["Server List", "-" * 30, f"{'server-address':<20}{'key':>10}", "-" * 30]
        lines += [f"{addr:<20}{key:>10}" for addr, key in sorted(servers)]
        lines += ["-" * 30, "", "Queue Status", "-" * (width + 25)]
        lines += [f"{'key':<{width}}{'total':>8}{'free':>7}{'pending':>10}", "-" * (width + 25)]
        lines += [
            f"{key:<{width}}{total.get(key, 0):>8}{info['free']:>7}{info['pending']:>10}"
            for key, info in sorted(data["queue_info"].items())
        ]
        return "\n".join([*lines, "-" * (width + 25), ""])

    def _lent(self, answer: Any) -> tuple[str, int, str]:
        if not isinstance(answer, list) or [type(part) for part in answer] != [str, int, str]:
            raise RuntimeError(f"the tracker at {self._addr} lends no server: {answer!r:.200}")
        return answer[0], answer[1], answer[2]

    def request(
        self,
        key: str,
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 5,
        session_constructor_args: Sequence[Any] | None = None,
    ) -> RPCSession:
        """A session with a free server of a key; waits until there is one."""
        last: Exception | None = None
        for _ in range(max_retry):
            try:
                url, port, match_key = self._lent(self._ask(TrackerCode.REQUEST, key, "", priority))
                return connect(url, port, match_key, session_timeout, session_constructor_args)
            except OSError as err:
                self.close()
                last = err
            except RPCError as err:  # a server that has gone meanwhile
                last = err
        raise RuntimeError(
            f"Cannot request {key} after {max_retry} retry, last_error:{last}"
        ) from last

    def request_and_run(
        self,
        key: str,
        func: Callable[[RPCSession], Any],
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 2,
    ) -> Any:
        """The result of a function of a session; when the server fails, on another one."""
        last: Exception | None = None
        for _ in range(max_retry):
            began = time.monotonic()
            try:
                return func(self.request(key, priority, session_timeout, max_retry=1))
            except RPCError as err:
                # its traceback would keep the session, and so the server busy
                last = err.with_traceback(None)
                _LOG.info("session with %s failed after %.1f s", key, time.monotonic() - began)
        raise RuntimeError(
            f"Failed to run on {key} after {max_retry} retry, last_error:{last}"
        ) from last
