"""From operators to kernels: the pass, and what rules are written with."""

from .common import LegalizeFunc, register_legalize
from .legalizer import LegalizeOps

__all__ = ["LegalizeFunc", "LegalizeOps", "register_legalize"]
