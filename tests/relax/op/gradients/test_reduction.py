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


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("zeros", [[], [0], [2], [1, 3], [4], [0, 1, 2]])
def test_running_product_with_zeros(zeros: list[int], exclusive: bool) -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 5), "float64"))
    weights = np.random.default_rng(1).uniform(0.5, 1.5, (2, 5))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.cumprod(x, 1, exclusive=exclusive))
            part = relax.op.multiply(y, relax.const(weights, "float64"))
            out = bb.emit_output(relax.op.sum(part))
        bb.emit_func_output(out)
    made = relax.transform.Gradient("main")(bb.get())
    array = np.random.default_rng(2).uniform(1, 2, (2, 5))
    array[0, zeros] = 0
    _, (grad,) = interp.run(made, array, name="main_adjoint")
    for i in range(2):
        for j in range(5):
            ends = []
            for step in (1e-3, -1e-3):  # the product is linear in each element
                moved = array.copy()
                moved[i, j] += step
                ends.append(float(interp.run(bb.get(), moved)))
            assert grad[i, j] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=1e-8)
