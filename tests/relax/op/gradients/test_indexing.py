"""Gradients of reading and writing at places."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import Case, t
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm import relax, tir
from tvm.relax import interp, op
from tvm.relax.op.gradients import indexing

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(indexing), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)


MORE = [
    Case("strided_slice", lambda x: op.strided_slice(x, [0, 1], [1, -2], [9, 5]), (t("n", 4),), 0),
    Case("strided_slice", lambda x: op.strided_slice(x, [0], [5], [-9], [-2]), (t("n", 2),), 0),
    Case("strided_slice", lambda x: op.strided_slice(x, [0], [-2], [9], [1]), (t("n", 2),), 0),
    Case("strided_slice", lambda x: op.strided_slice(x, [1], [0], [x.struct_info.shape[0] - 1]),
         (t("n", 4),), 0),
    Case("gather_nd", lambda x, i: op.gather_nd(x, i, 2),
         (t("n", 4, 3, 2), t("n", 4, 5, 1, dtype="int32", low=0, high=3)), 0),
]  # fmt: skip


@pytest.mark.parametrize("case", MORE, ids=lambda case: f"{case}-{MORE.index(case)}")
def test_symbols_and_batches(case: Case) -> None:
    check_slope(case)


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [([1, 0], [4, 3], [1, 2]), ([-1, 2], [-9, -9], [-2, -1]), ([0, -2], [9, 9], [3, 1])],
)
def test_slices_by_tensors(begin: list[int], end: list[int], strides: list[int]) -> None:
    x = relax.Var("x", relax.TensorStructInfo((5, 3), "float64"))
    bounds = [relax.const(b, "int64") for b in (begin, end, strides)]
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            part = bb.emit(op.dynamic_strided_slice(x, *bounds))
            sizes = [tir.Var(name, "int64") for name in "ab"]
            part = bb.match_cast(part, relax.TensorStructInfo(sizes, "float64"))
            out = bb.emit_output(op.sum(op.multiply(part, part)))
        bb.emit_func_output(out)
    made = relax.transform.Gradient("main")(bb.get())
    assert relax.analysis.well_formed(made)
    array = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    _, (grad,) = interp.run(made, array, name="main_adjoint")
    wanted = np.zeros((5, 3))
    at = tuple(slice(b, None if e < -5 else e, s) for b, e, s in zip(begin, end, strides))
    wanted[at] = 2 * array[at]
    np.testing.assert_allclose(grad, wanted)
