"""The operator library under the name of the original's C++ half: the functions of `tvm.topi`."""

from __future__ import annotations

import importlib
from typing import Any

from tvm import topi
from tvm.topi import nn as nn
from tvm.topi import vision as vision


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(topi.__name__), name)
