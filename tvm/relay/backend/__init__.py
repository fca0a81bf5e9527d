"""Running Relay: compiled by way of Relax, and interpreted where functions and data are values."""

from tvm.support.lazy import lazy_names

_HOMES = {
    "Executor": "tvm.relay.backend.executor:Executor",
    "Runtime": "tvm.relay.backend.runtime:Runtime",
}

__getattr__ = lazy_names(__name__, _HOMES)
