"""Gradients of activations and losses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm import relax
from tvm.relax import interp
from tvm.relax.op.gradients import nn

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(nn), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)


@pytest.mark.parametrize("channels", [False, True])
def test_scale_of_quantised_numbers(channels: bool) -> None:
    """In single precision, the only one that it takes."""
    shape = (3,) if channels else ()
    x, s, z = (relax.Var(n, relax.TensorStructInfo(d, t)) for n, d, t in
               (("x", (2, 3), "int8"), ("s", shape, "float32"), ("z", shape, "int8")))  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", [x, s, z]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.sum(bb.emit(relax.op.dequantize(x, s, z, axis=1))))
        bb.emit_func_output(out)
    made = relax.transform.Gradient("main", s)(bb.get())
    data = np.arange(6, dtype="int8").reshape(2, 3)
    zero = np.full(shape, 2, "int8")
    _, (grad,) = interp.run(made, data, np.ones(shape, "float32"), zero, name="main_adjoint")
    np.testing.assert_array_equal(grad, (data - zero).sum(0 if channels else None))
