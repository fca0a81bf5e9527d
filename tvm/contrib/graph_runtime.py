"""The name that `tvm.contrib.graph_executor` had before v0.8; scripts of that time still use it."""

from __future__ import annotations

import warnings
from typing import Any

from . import graph_executor
from .graph_executor import GraphModule as GraphModule


def create(graph_json_str: str, libmod: Any, device: Any) -> GraphModule:
    """`graph_executor.create`, with a DeprecationWarning."""
    warnings.warn(
        "tvm.contrib.graph_runtime has a new name: tvm.contrib.graph_executor",
        DeprecationWarning, stacklevel=2,
    )  # fmt: skip
    return graph_executor.create(graph_json_str, libmod, device)
