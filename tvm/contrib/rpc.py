"""The name that `tvm.rpc` had before v0.5; scripts of that time still use it."""

import warnings

from tvm.rpc import LocalSession, RPCSession, Server, TrackerSession, connect, connect_tracker

warnings.warn(
    "tvm.contrib.rpc has a new name: tvm.rpc", DeprecationWarning, stacklevel=2
)

__all__ = ["LocalSession", "RPCSession", "Server", "TrackerSession", "connect", "connect_tracker"]
