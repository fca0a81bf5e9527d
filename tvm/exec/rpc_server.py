"""Lend this machine to clients of `tvm.rpc`.

    python -m tvm.exec.rpc_server --tracker=HOST:PORT --key=NAME

It listens on this machine only, unless the environment variables TVM_RPC_TOKEN (a secret) and
TVM_RPC_TLS (a folder of certificates, see tvm.exec.rpc_certificate) are set.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from tvm.error import TVMError
from tvm.rpc.limits import MEMORY, SECONDS
from tvm.rpc.server import serve
from tvm.rpc.server_through_proxy import serve_through_proxy


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(prog="python -m tvm.exec.rpc_server", description=__doc__)
    found.add_argument("--host", default="0.0.0.0", help="the address to listen on")
    found.add_argument("--port", type=int, default=9090, help="the first port to try")
    found.add_argument("--port-end", type=int, default=9199, help="the port to stop at")
    found.add_argument("--through-proxy", action="store_true", help="host and port are a proxy's")
    found.add_argument("--tracker", default="", help="HOST:PORT of the tracker to register at")
    found.add_argument("--key", default="", help="the kind of device that this is")
    found.add_argument("--silent", action="store_true", help="say nothing but errors")
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
    logging.basicConfig(level=logging.ERROR if args.silent else logging.INFO)
    for name, value in ((MEMORY, args.session_memory), (SECONDS, args.session_seconds)):
        if value is not None:
            os.environ[name] = value
    tracker = address(args.tracker)
    if tracker is not None and not args.key:
        raise SystemExit("--key is needed to register at a tracker")

    def ready(port: int) -> None:
        if not args.silent:
            print(f"bind to {args.host}:{port}", flush=True)

    try:
        if args.through_proxy:
            library = args.load_library or None
            serve_through_proxy(ready, args.host, args.port, args.key, library)
        serve(
            ready, args.host, args.port, args.port_end, args.key, tracker,
            args.load_library or None, args.custom_addr,
        )  # fmt: skip
    except KeyboardInterrupt:
        pass
    except TVMError as err:
        sys.exit(str(err))


if __name__ == "__main__":
    main()
