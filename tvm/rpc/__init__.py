"""Run compiled functions on other machines: servers, a tracker that lends them out, sessions.

Everything that a session may ask of its server is as powerful as running programs there. A server
listens on this machine only, unless the environment variable TVM_RPC_TOKEN holds a secret and
TVM_RPC_TLS names a folder of certificates: then it listens where it is told to, and talks to those
who have both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_HOMES = {
    "LocalSession": "tvm.rpc.client:LocalSession",
    "PopenSession": "tvm.rpc.client:PopenSession",
    "RPCSession": "tvm.rpc.client:RPCSession",
    "Server": "tvm.rpc.server:Server",
    "TrackerSession": "tvm.rpc.client:TrackerSession",
    "connect": "tvm.rpc.client:connect",
    "connect_tracker": "tvm.rpc.client:connect_tracker",
    "with_minrpc": "tvm.rpc.minrpc:with_minrpc",
}
_CHILDREN = ("base", "client", "minrpc", "proxy", "server", "tornado_util", "tracker")

if TYPE_CHECKING:
    from .client import LocalSession as LocalSession
    from .client import PopenSession as PopenSession
    from .client import RPCSession as RPCSession
    from .client import TrackerSession as TrackerSession
    from .client import connect as connect
    from .client import connect_tracker as connect_tracker
    from .minrpc import with_minrpc as with_minrpc
    from .server import Server as Server
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
