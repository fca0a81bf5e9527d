"""Programs of StableHLO, as JAX writes them, to Relax modules: `from_stablehlo(module)`.

The bindings of MLIR come with `jaxlib`, an extra: importing this package does not load it.
"""

from .stablehlo_translator import StableHLOImporter, from_stablehlo

__all__ = ["StableHLOImporter", "from_stablehlo"]
