"""How to measure, and how to reach other machines."""

from __future__ import annotations

import os
from typing import NamedTuple

from tvm import rpc
from tvm.error import message
from tvm.rpc import RPCSession, TrackerSession


class EvaluatorConfig(NamedTuple):
    """`repeat` numbers, each the mean of `number` runs that take `min_repeat_ms` or more.

    With `enable_cpu_cache_flush` the caches are emptied before each of them. `best_s` is the best
    time that is known: of what the first runs show to be far slower, these are the measurement.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False
    best_s: float | None = None

    @staticmethod
    def _normalized(config: EvaluatorConfig | None) -> EvaluatorConfig:
        return EvaluatorConfig() if config is None else EvaluatorConfig(*config)


class RPCConfig(NamedTuple):
    """Where the tracker is and which of its servers to ask for; by default as the environment says.

    TVM_TRACKER_HOST, TVM_TRACKER_PORT and TVM_TRACKER_KEY are the variables.
    """

    tracker_host: str | None = None
    tracker_port: int | str | None = None
    tracker_key: str | None = None
    session_priority: int = 1
    session_timeout_sec: int = 10

    def _sanity_check(self) -> None:
        names = ("tracker_host", "tracker_port", "tracker_key")
        missing = [name for name in names if getattr(self, name) is None]
        if missing:
            raise ValueError(
                message(
                    f"RPCConfig.{missing[0]} is not provided",
                    found=f"no {', '.join(missing)}",
                    legal="RPCConfig(tracker_host=, tracker_port=, tracker_key=), or "
                    + ", ".join("TVM_" + name.upper() for name in missing)
                    + " in the environment",
                )
            )

    @staticmethod
    def _normalized(config: RPCConfig | None) -> RPCConfig:
        given = RPCConfig() if config is None else config
        env = os.environ.get
        found = given._replace(
            tracker_host=given.tracker_host or env("TVM_TRACKER_HOST"),
            tracker_port=given.tracker_port or env("TVM_TRACKER_PORT"),
            tracker_key=given.tracker_key or env("TVM_TRACKER_KEY"),
        )
        found._sanity_check()
        return found

    def connect_tracker(self) -> TrackerSession:
        """A session with the tracker."""
        full = RPCConfig._normalized(self)
        assert full.tracker_host is not None and full.tracker_port is not None, "checked"
        return rpc.connect_tracker(full.tracker_host, int(full.tracker_port))

    def connect_server(self) -> RPCSession:
        """A session with a free server; waits for one."""
        full = RPCConfig._normalized(self)
        assert full.tracker_key is not None, "checked"
        return full.connect_tracker().request(
            full.tracker_key, full.session_priority, full.session_timeout_sec
        )

    def count_num_servers(self, allow_missing: bool = True) -> int:
        """Servers of the key; without any a ValueError, unless `allow_missing`."""
        full = RPCConfig._normalized(self)
        servers = full.connect_tracker().summary()["server_info"]
        keys = [str(item["key"]).partition(":")[2] for item in servers]
        count = keys.count(str(full.tracker_key))
        if count == 0 and not allow_missing:
            raise ValueError(
                message(
                    f"servers of the key {full.tracker_key!r}",
                    found="none at the tracker",
                    legal="servers that were started with this key",
                )
            )
        return count
