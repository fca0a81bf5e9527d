"""Passes by the module that programs take those from which have no wrapper of their own."""

import tvm.relay.transform as _home
from tvm.support.lazy import lazy_names

_HOMES = {name: f"tvm.relay.transform:{name}" for name in vars(_home) if name[0].isupper()}

__getattr__ = lazy_names(__name__, _HOMES)
