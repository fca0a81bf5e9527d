"""Join servers and clients of `tvm.rpc` that cannot reach each other.

    python -m tvm.exec.rpc_proxy --port=9090

It listens on this machine only, unless the environment variables TVM_RPC_TOKEN (a secret) and
TVM_RPC_TLS (a folder of certificates, see tvm.exec.rpc_certificate) are set.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tvm.rpc.proxy import serve

from .listening import listen, listening_parser, log_level
from .rpc_server import address


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = listening_parser("rpc_proxy", __doc__, "127.0.0.1", 9090)
    found.add_argument("--tracker", default="", help="HOST:PORT of the tracker to report to")
    found.add_argument("--timeout-client", type=float, default=600, help="seconds they wait")
    found.add_argument("--timeout-server", type=float, default=600, help="seconds they wait")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Join until the process is ended."""
    args = parser().parse_args(arguments)
    log_level(args)
    listen(args, lambda ready: serve(
        ready, args.host, args.port, args.port_end, tracker_addr=address(args.tracker),
        web_port=0, timeout_client=args.timeout_client, timeout_server=args.timeout_server,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
