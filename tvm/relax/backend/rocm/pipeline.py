"""The passes that compile a graph for GPUs of AMD: those of any GPU."""

from tvm.relax.backend.gpu_generic.pipeline import (
    dataflow_lower_passes,
    finalize_passes,
    get_default_pipeline,
    legalize_passes,
    library_dispatch_passes,
)

__all__ = [
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "legalize_passes",
    "library_dispatch_passes",
]  # fmt: skip
