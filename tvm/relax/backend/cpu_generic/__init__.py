"""Graphs on CPUs."""

from .pipeline import (
    dataflow_lower_passes,
    finalize_passes,
    get_default_pipeline,
    kernel_passes,
    legalize_passes,
    library_dispatch_passes,
    schedule_passes,
)

__all__ = [
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "kernel_passes",
    "legalize_passes", "library_dispatch_passes", "schedule_passes",
]  # fmt: skip
