"""Servers that listen nowhere: they connect to a proxy and wait there for clients."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Final, NoReturn

from tvm.error import RPCError, message
from tvm.ffi import get_global_func
from tvm.runtime import handshake, tls

from . import base, limits
from .processes import run_as_process
from .server import run_session, timeout_of

_LOG = logging.getLogger(__name__)
_RETRY_S: Final = 5.0
_MAX_RETRIES: Final = 5


def serve_through_proxy(
    ready: Callable[[int], None],
    host: str,
    port: int,
    key: str = "",
    load_library: str | None = None,
    timeout: float | None = None,
) -> NoReturn:
    """Serve one client of the proxy after the other; RPCError when the proxy stays away."""
    get_global_func("rpc.builtin.alloc")  # import what sessions need once, before they fork
    ready(port)
    libraries = load_library.split(":") if load_library else []
    limits.check()
    failures = 0
    while True:
        try:
            joined = _client(host, port, key)
            failures = 0
        except OSError as err:
            failures += 1
            if failures > _MAX_RETRIES:
                raise RPCError(
                    message(
                        f"serve through the proxy at {host}:{port}",
                        found=f"Maximum retry error: last error: {err}",
                        legal="the address of a tvm.rpc.proxy.Proxy",
                    )
                ) from err
            _LOG.warning("no proxy at %s:%s: %s", host, port, err)
            time.sleep(_RETRY_S)
            continue
        if joined is not None:
            run_session(joined[0], libraries, limits.seconds(joined[1], timeout))


def _client(host: str, port: int, key: str) -> tuple[socket.socket, float] | None:
    """The next client, and the seconds that its session may take; None if none came in time."""
    sock = tls.dial((host, port), timeout=60)
    handshake.connect(sock, base.RPC_MAGIC)
    base.send_text(sock, f"server:{key}")
    sock.settimeout(None)
    code = base.recv_int(sock)
    if code == base.RPC_CODE_SUCCESS:
        _, *options = base.recv_text(sock).split(" ")
        try:
            return sock, timeout_of(options)
        except RPCError as err:  # what this client wants is no reason to go
            _LOG.warning("no session: %s", err)
            sock.close()
            return None
    sock.close()
    if code == base.RPC_CODE_MISMATCH:
        _LOG.info("no client of %s wants the key %r", host, key)
        time.sleep(0.1)  # the secret differs, or nobody came
        return None
    found = f"another server there has the key {key!r}"
    if code != base.RPC_CODE_DUPLICATE:
        found = f"{host}:{port} is not RPC Proxy"
    raise RPCError(message(f"serve through the proxy at {host}:{port}", found=found))


if __name__ == "__main__":
    run_as_process(serve_through_proxy)
