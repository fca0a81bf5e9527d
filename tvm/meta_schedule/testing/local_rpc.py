"""A tracker and a server on this machine.

    with LocalRPC() as rpc:
        RPCConfig(rpc.tracker_host, rpc.tracker_port, rpc.tracker_key)
"""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from tvm.rpc.server import Server
from tvm.rpc.tracker import Tracker

_HERE = "127.0.0.1"


class LocalRPC:
    """Both run in processes of their own, listen on this machine, and end with the `with` block."""

    def __init__(
        self, tracker_key: str = "key", silent: bool = False, no_fork: bool = False
    ) -> None:
        self._tracker: Any = Tracker(host=_HERE, silent=silent, port=9190, port_end=12345)
        self._server: Any = Server(
            host=_HERE,
            key=tracker_key,
            tracker_addr=(_HERE, self._tracker.port),
            silent=silent,
            no_fork=no_fork,
            port=9190,
            port_end=12345,
        )
        self.tracker_host = _HERE
        self.tracker_port: int = self._tracker.port
        self.tracker_key = tracker_key

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.terminate()
        self._tracker.terminate()
