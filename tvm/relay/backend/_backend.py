"""Parts of backends under the module name that scripts know."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.target import Target

from .graph_plan_memory import GraphPlanMemory as GraphPlanMemory


def build(mod: IRModule, target: Any, target_host: Any = None) -> Any:
    """Kernels in loops as a library for a target."""
    from tvm.tir.build import build as build_kernels

    return build_kernels(mod, Target(target, host=target_host))
