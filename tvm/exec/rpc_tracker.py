"""Lend servers of `tvm.rpc` to clients, by key and in turn.

    python -m tvm.exec.rpc_tracker --port=9190

It listens on this machine only, unless the environment variables TVM_RPC_TOKEN (a secret) and
TVM_RPC_TLS (a folder of certificates, see tvm.exec.rpc_certificate) are set.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from tvm.error import TVMError
from tvm.rpc.base import random_key
from tvm.rpc.tracker import serve


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(prog="python -m tvm.exec.rpc_tracker", description=__doc__)
    found.add_argument("--host", default="0.0.0.0", help="the address to listen on")
    found.add_argument("--port", type=int, default=9190, help="the first port to try")
    found.add_argument("--port-end", type=int, default=9199, help="the port to stop at")
    found.add_argument("--silent", action="store_true", help="say nothing but errors")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Track until the process is ended."""
    args = parser().parse_args(arguments)
    logging.basicConfig(level=logging.ERROR if args.silent else logging.INFO)

    def ready(port: int) -> None:
        if not args.silent:
            print(f"bind to {args.host}:{port}", flush=True)

    try:
        serve(ready, args.host, args.port, args.port_end, random_key("tracker"))
    except KeyboardInterrupt:
        pass
    except TVMError as err:
        sys.exit(str(err))


if __name__ == "__main__":
    main()
