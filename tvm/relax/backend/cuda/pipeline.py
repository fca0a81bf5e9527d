"""The passes that compile a graph for GPUs of NVIDIA: those of any GPU, and CUDA graphs."""

from __future__ import annotations

import sys

from tvm.ir.transform import Pass
from tvm.relax import transform as t
from tvm.relax.backend import default_pipeline
from tvm.relax.backend.gpu_generic import pipeline as gpu_generic
from tvm.relax.backend.gpu_generic.pipeline import (
    dataflow_lower_passes,
    library_dispatch_passes,
)
from tvm.relax.backend.gpu_generic.products import AttentionAsProducts, WideSums
from tvm.target.target import Target

__all__ = [
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "legalize_passes",
    "library_dispatch_passes",
]  # fmt: skip


def legalize_passes(target: Target) -> list[Pass]:
    """From operators to scheduled kernels."""
    lift, fit, compare, *others = gpu_generic.legalize_passes(target)
    return [
        lift,
        fit,
        compare,
        AttentionAsProducts(),  # before the next, which looks at products
        WideSums(),  # tensor cores sum half floats as float32 at the same speed
        *others,
    ]


def finalize_passes(target: Target) -> list[Pass]:
    """From there to what the virtual machine runs."""
    plan, *after = default_pipeline.finalize_passes(target)
    return [
        plan,
        t.RewriteCUDAGraph(),  # launches that repeat become graphs, where that is asked for
        *after,
    ]


def get_default_pipeline(target: Target) -> default_pipeline.DefaultPipeline:
    """All of the passes above."""
    return default_pipeline.DefaultPipeline(target, sys.modules[__name__])
