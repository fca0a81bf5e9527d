"""erf."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .exponential import small_exp_steps
from .steps import Steps

# erf(x) = x * Q(x**2) on [0, 1], relative error 0.07 ulp.
ERF_Q: Final = {
    32: (
        1.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853814721107483,
        0.005188333801925182, -0.0008010242017917335, 7.854008435970172e-05,
    ),
    64: (
        1.1283791670955126, -0.3761263890318352, 0.11283791670944186, -0.02686617064311158,
        0.005223977606119176, -0.0008548325929342215, 0.0001205529357761946,
        -1.4924712314370755e-05, 1.6447131710596526e-06, -1.620631474612455e-07,
        1.3710984387566876e-08, -7.779475484832314e-10,
    ),
}  # fmt: skip
# erf(x) = 1 - exp(R(x - start)) from 1 on, error 0.06 ulp of the result; 1 from `end` on.
ERFC_R: Final = {
    32: (
        -0.0003004283644258976, -1.1272515058517456, -0.6378830671310425, -0.10332734882831573,
        0.021940430626273155, -0.0029724419582635164, 0.0001888236147351563,
    ),
    64: (
        -1.8496055099332482, -2.6389675142347775, -0.8431072563593303, -0.04156109802668364,
        0.010033825195158247, -0.00197790131087008, 0.0002373167981591951,
        2.6295382085385285e-05, -2.7197241936692604e-05, 9.669092355540042e-06,
        -2.1297380744406257e-06, 2.0325557444021622e-07, 5.8815324768970416e-08,
        -3.369017403670244e-08, 8.596534036168703e-09, -1.332501908229311e-09,
        1.206969418021278e-10, -4.927978295273183e-12,
    ),
}  # fmt: skip
START: Final = {32: 0.0, 64: 1.0}
END: Final = {32: 4.0, 64: 6.0}


def erf(steps: Steps, x: PrimExpr) -> PrimExpr:
    """A polynomial near zero; 1 - exp(polynomial) further out."""
    width = steps.form.bits
    x = steps.let("erf_x", x)
    a = steps.let("erf_a", arith.min_of(steps.absolute(x), steps.const(END[width])))
    square = steps.let("erf_square", a * a)
    near = a * steps.polynomial(square, ERF_Q[width])
    u = a if START[width] == 0.0 else steps.let("erf_u", a - steps.const(START[width]))
    far = steps.const(1.0) - small_exp_steps(steps, steps.polynomial(u, ERFC_R[width]))
    # NaN takes the near side, where it stays
    value = steps.select(arith.greater_equal(a, steps.const(1.0)), far, near)
    return steps.result(steps.with_sign_of(value, x))
