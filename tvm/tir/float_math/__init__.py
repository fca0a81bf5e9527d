"""Mathematical functions of float32 (and narrower) and float64, written out in TIR.

Each is a polynomial after a reduction of its argument, without branches, so that it works on
vectors as on scalars and is vectorized with the loop around it. Results are within 4 ulp;
infinities, NaN, denormals and signed zeros come out as numpy has them. Coefficients are minimax
fits made for the intervals named beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Final

from tvm.ir.expr import PrimExpr

from .error_function import erf
from .exponential import exp, exp2, exp10
from .hyperbolic import acosh, asinh, atanh, cosh, sigmoid, sinh, tanh
from .inverse_trigonometric import acos, asin, atan, atan2
from .length import hypot
from .logarithm import log, log1p, log2, log10
from .neighbour import neighbour
from .power import power
from .steps import Steps as Steps
from .trigonometric import cos, sin, tan

# Operators by name, with the function that writes them out for float32 or float64 operands.
EXPANSIONS: Final[dict[str, Callable[Concatenate[Steps, ...], PrimExpr]]] = {
    "tir.exp": exp,
    "tir.exp2": exp2,
    "tir.exp10": exp10,
    "tir.log": log,
    "tir.log2": log2,
    "tir.log10": log10,
    "tir.log1p": log1p,
    "tir.tanh": tanh,
    "tir.sigmoid": sigmoid,
    "tir.sinh": sinh,
    "tir.cosh": cosh,
    "tir.asinh": asinh,
    "tir.acosh": acosh,
    "tir.atanh": atanh,
    "tir.erf": erf,
    "tir.pow": power,
    "tir.hypot": hypot,
    "tir.sin": sin,
    "tir.cos": cos,
    "tir.tan": tan,
    "tir.asin": asin,
    "tir.acos": acos,
    "tir.atan": atan,
    "tir.atan2": atan2,
    "tir.nextafter": neighbour,
}
