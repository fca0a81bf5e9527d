"""The name that `tvm.contrib.debugger.debug_executor` had before v0.8."""

from __future__ import annotations

import warnings
from typing import Any

from . import debug_executor


def create(*args: Any, **kwargs: Any) -> debug_executor.GraphModuleDebug:
    """`debug_executor.create`, with a DeprecationWarning."""
    warnings.warn(
        "tvm.contrib.debugger.debug_runtime has a new name: tvm.contrib.debugger.debug_executor",
        DeprecationWarning, stacklevel=2,
    )  # fmt: skip
    return debug_executor.create(*args, **kwargs)
