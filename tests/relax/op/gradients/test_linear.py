"""Gradients of products of matrices."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm import relax
from tvm.error import TVMError
from tvm.relax.op.gradients import linear

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(linear), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)


@pytest.mark.parametrize("text", ["ii->i", "ij,jk->k"])
def test_subscripts_that_have_no_rule_are_refused(text: str) -> None:
    operands = [relax.Var("x", relax.TensorStructInfo((3, 3), "float64"))] * (1 + text.count(","))
    call = relax.op.einsum(operands, text)
    bb = relax.BlockBuilder()
    result = relax.Var("y", bb.normalize(call).struct_info)
    with pytest.raises(TVMError, match=r"gradient of relax\.einsum"):
        linear.einsum_grad(result, call, result, bb)
