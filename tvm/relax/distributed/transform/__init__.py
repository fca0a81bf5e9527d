"""Passes over tensors that are spread over a mesh of devices."""

from .legalize_redistribute import LegalizeRedistribute
from .lower_distir import LowerDistIR
from .lower_global_to_local_view import LowerGlobalViewToLocalView
from .propagate_sharding import PropagateSharding

__all__ = [
    "LegalizeRedistribute", "LowerDistIR", "LowerGlobalViewToLocalView", "PropagateSharding",
]  # fmt: skip
