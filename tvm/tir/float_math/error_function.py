"""erf of float32."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr

from .exponential import exp_steps
from .steps import Steps

# erf(x) = x * Q(x**2) on [0, 1], relative error 0.02 ulp.
ERF_Q: Final = (
    1.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853814721107483,
    0.005188333801925182, -0.0008010242017917335, 7.854008435970172e-05,
)  # fmt: skip
# erf(x) = 1 - exp(R(x)) on [1, 4], error 0.02 ulp of the result.
ERFC_R: Final = (
    -0.0003004283644258976, -1.1272515058517456, -0.6378830671310425, -0.10332734882831573,
    0.021940430626273155, -0.0029724419582635164, 0.0001888236147351563,
)  # fmt: skip


def erf(x: PrimExpr) -> PrimExpr:
    """A polynomial near zero; 1 - exp(polynomial) further out, which is 1 from 3.92 on."""
    steps = Steps(x)
    x = steps.let("erf_x", x)
    a = steps.let("erf_a", steps.clamp(steps.absolute(x), 0.0, 4.0))
    square = steps.let("erf_square", a * a)
    near = a * steps.polynomial(square, ERF_Q)
    far = steps.const(1.0) - exp_steps(steps, steps.polynomial(a, ERFC_R))
    value = steps.select(a < steps.const(1.0), near, far)
    return steps.result(steps.with_sign_of(value, x))
