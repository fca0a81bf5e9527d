"""Graphs on GPUs of any kind."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

from .cumsum import gpu_2d_continuous_cumsum
from .sampling import generic_get_sample_index, gpu_multinomial_from_uniform

__all__ = ["generic_get_sample_index", "gpu_2d_continuous_cumsum", "gpu_multinomial_from_uniform"]

_PASSES = (
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "legalize_passes",
    "library_dispatch_passes",
)  # fmt: skip
# The passes use the kernels, so they load when they are asked for.
__getattr__ = lazy_names(__name__, {name: f"{__name__}.pipeline:{name}" for name in _PASSES})
