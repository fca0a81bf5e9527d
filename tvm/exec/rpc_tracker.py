"""Lend servers of `tvm.rpc` to clients, by key and in turn.

    python -m tvm.exec.rpc_tracker --port=9190

It listens on this machine only, unless the environment variables TVM_RPC_TOKEN (a secret) and
TVM_RPC_TLS (a folder of certificates, see tvm.exec.rpc_certificate) are set.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tvm.rpc.base import random_key
from tvm.rpc.tracker import serve

from .listening import listen, listening_parser, log_level


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    return listening_parser("rpc_tracker", __doc__, "0.0.0.0", 9190)


def main(arguments: Sequence[str] | None = None) -> None:
    """Track until the process is ended."""
    args = parser().parse_args(arguments)
    log_level(args)
    key = random_key("tracker")
    listen(args, lambda ready: serve(ready, args.host, args.port, args.port_end, key))


if __name__ == "__main__":
    main()
