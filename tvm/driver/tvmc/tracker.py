"""Where a tracker of devices listens."""

from __future__ import annotations

import argparse
from typing import Any

PORT = 9090


def tracker_host_port_from_cli(rpc_tracker_str: str | None) -> tuple[str | None, int | None]:
    """Host and port of `host[:port]`; without a port 9090, without a tracker neither."""
    if not rpc_tracker_str:
        return None, None
    host, colon, port = rpc_tracker_str.rpartition(":")
    if not colon:
        return rpc_tracker_str, PORT
    if not host or not port.isdecimal():
        raise ValueError(f"{rpc_tracker_str!r} is no tracker; legal: host[:port]")
    return host, int(port)


def add_tracker_args(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which device of which tracker is used."""
    parser.add_argument("--rpc-key", help="what the tracker calls the device")
    tracker: dict[str, Any] = {"type": tracker_host_port_from_cli, "default": (None, None)}
    parser.add_argument(
        "--rpc-tracker", metavar="HOST[:PORT]", help="where a tracker of devices listens", **tracker
    )
