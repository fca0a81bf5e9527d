"""Lend this machine to clients of `tvm.rpc`.

    python -m tvm.exec.rpc_server --tracker=HOST:PORT --key=NAME

It listens on this machine only, unless the environment variables TVM_RPC_TOKEN (a secret) and
TVM_RPC_TLS (a folder of certificates, see tvm.exec.rpc_certificate) are set.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from tvm.rpc.limits import MEMORY, SECONDS
from tvm.rpc.server import serve
from tvm.rpc.server_through_proxy import serve_through_proxy

from .listening import listen, listening_parser, log_level


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = listening_parser("rpc_server", __doc__, "0.0.0.0", 9090)
    found.add_argument("--through-proxy", action="store_true", help="host and port are a proxy's")
    found.add_argument("--tracker", default="", help="HOST:PORT of the tracker to register at")
    found.add_argument("--key", default="", help="the kind of device that this is")
    found.add_argument("--load-library", default="", help="libraries to load, a colon between")
    found.add_argument("--session-memory", help="bytes a session may take, such as 4G")
    found.add_argument("--session-seconds", help="how long a session may last")
    found.add_argument("--custom-addr", help="the address that the tracker is to tell clients")
    return found


def address(text: str) -> tuple[str, int] | None:
    """HOST:PORT."""
    if not text:
        return None
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise SystemExit(f"--tracker is not HOST:PORT: {text!r}")
    return host, int(port)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the process is ended."""
    args = parser().parse_args(arguments)
    log_level(args)
    for name, value in ((MEMORY, args.session_memory), (SECONDS, args.session_seconds)):
        if value is not None:
            os.environ[name] = value
    tracker = address(args.tracker)
    if tracker is not None and not args.key:
        raise SystemExit("--key is needed to register at a tracker")

    library = args.load_library or None

    def run(ready: Callable[[int], None]) -> None:
        if args.through_proxy:
            serve_through_proxy(ready, args.host, args.port, args.key, library)
        serve(
            ready, args.host, args.port, args.port_end, args.key, tracker, library,
            args.custom_addr,
        )  # fmt: skip

    listen(args, run)


if __name__ == "__main__":
    main()
