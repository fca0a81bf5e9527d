"""The passes by the name of the module that scripts of v0.18 import: a door to the package."""

import tvm.relay.transform as _home
from tvm.support.lazy import lazy_names

_NAMES = [*vars(_home), *_home._HOMES]
_HOMES = {name: f"tvm.relay.transform:{name}" for name in _NAMES if not name.startswith("_")}

__getattr__ = lazy_names(__name__, _HOMES)
