"""Mathematical functions of float32 (and narrower) written out in TIR.

Each is a polynomial after a reduction of its argument, without branches, so that it works on
vectors as on scalars and is vectorized with the loop around it. Results are within 4 ulp;
infinities, NaN, denormals and signed zeros come out as numpy has them. Coefficients are minimax
fits made for the intervals named beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.ir.expr import PrimExpr

from .error_function import erf
from .exponential import exp, exp2, exp10
from .hyperbolic import sigmoid, tanh
from .logarithm import log, log1p, log2, log10
from .power import power
from .trigonometric import cos, sin, tan

# Operators by name, with the function that writes them out for float32 operands.
EXPANSIONS: Final[dict[str, Callable[..., PrimExpr]]] = {
    "tir.exp": exp,
    "tir.exp2": exp2,
    "tir.exp10": exp10,
    "tir.log": log,
    "tir.log2": log2,
    "tir.log10": log10,
    "tir.log1p": log1p,
    "tir.tanh": tanh,
    "tir.sigmoid": sigmoid,
    "tir.erf": erf,
    "tir.pow": power,
    "tir.sin": sin,
    "tir.cos": cos,
    "tir.tan": tan,
}
