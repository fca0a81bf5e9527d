"""Gradients of reductions and running sums."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm import relax
from tvm.relax import interp
from tvm.relax.op.gradients import reduction

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(reduction), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)


def test_product_with_a_zero() -> None:
    x = relax.Var("x", relax.TensorStructInfo((3,), "float64"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.prod(x))
        bb.emit_func_output(out)
    made = relax.transform.Gradient("main")(bb.get())
    _, (grad,) = interp.run(made, np.array([2.0, 0.0, 3.0]), name="main_adjoint")
    np.testing.assert_array_equal(grad, [0, 6, 0])
