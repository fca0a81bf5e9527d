"""The passes, under the module name that TVM gives them."""

from . import (
    LegalizeRedistribute,
    LowerDistIR,
    LowerGlobalViewToLocalView,
    PropagateSharding,
)

__all__ = [
    "LegalizeRedistribute", "LowerDistIR", "LowerGlobalViewToLocalView", "PropagateSharding",
]  # fmt: skip
