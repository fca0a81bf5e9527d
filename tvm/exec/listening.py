"""What the command lines of `tvm.rpc` that listen on a port have in common."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from typing import Any

from tvm.error import TVMError


def listening_parser(
    prog: str, description: str | None, host: str, port: int
) -> argparse.ArgumentParser:
    """A parser that knows where to listen."""
    found = argparse.ArgumentParser(prog=f"python -m tvm.exec.{prog}", description=description)
    found.add_argument("--host", default=host, help="the address to listen on")
    found.add_argument("--port", type=int, default=port, help="the first port to try")
    found.add_argument("--port-end", type=int, default=9199, help="the port to stop at")
    found.add_argument("--silent", action="store_true", help="say nothing but errors")
    return found


def log_level(args: argparse.Namespace) -> None:
    """Say as much as was asked for."""
    logging.basicConfig(level=logging.ERROR if args.silent else logging.INFO)


def listen(args: argparse.Namespace, serve: Callable[[Callable[[int], None]], Any]) -> None:
    """Serve until the process is ended; `serve` calls what it is given with its port."""

    def ready(port: int) -> None:
        if not args.silent:
            print(f"bind to {args.host}:{port}", flush=True)

    try:
        serve(ready)
    except KeyboardInterrupt:
        pass
    except TVMError as err:
        sys.exit(str(err))
