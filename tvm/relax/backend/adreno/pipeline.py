"""The passes that compile a graph for an Adreno GPU; they stand in `tvm.relax.pipeline`."""

from tvm.relax.pipeline import (
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
