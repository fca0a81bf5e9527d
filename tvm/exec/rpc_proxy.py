"""Join servers and clients of `tvm.rpc` that cannot reach each other.

    python -m tvm.exec.rpc_proxy --port=9090

It listens on this machine only, unless the environment variables TVM_RPC_TOKEN (a secret) and
TVM_RPC_TLS (a folder of certificates, see tvm.exec.rpc_certificate) are set.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from tvm.error import TVMError
from tvm.rpc.proxy import serve

from .rpc_server import address


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(prog="python -m tvm.exec.rpc_proxy", description=__doc__)
    found.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    found.add_argument("--port", type=int, default=9090, help="the first port to try")
    found.add_argument("--port-end", type=int, default=9199, help="the port to stop at")
    found.add_argument("--tracker", default="", help="HOST:PORT of the tracker to report to")
    found.add_argument("--timeout-client", type=float, default=600, help="seconds they wait")
    found.add_argument("--timeout-server", type=float, default=600, help="seconds they wait")
    found.add_argument("--silent", action="store_true", help="say nothing but errors")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Join until the process is ended."""
    args = parser().parse_args(arguments)
    logging.basicConfig(level=logging.ERROR if args.silent else logging.INFO)

    def ready(port: int) -> None:
        if not args.silent:
            print(f"bind to {args.host}:{port}", flush=True)

    try:
        serve(
            ready, args.host, args.port, args.port_end, tracker_addr=address(args.tracker),
            web_port=0, timeout_client=args.timeout_client, timeout_server=args.timeout_server,
        )  # fmt: skip
    except KeyboardInterrupt:
        pass
    except TVMError as err:
        sys.exit(str(err))


if __name__ == "__main__":
    main()
