"""Gradients of operators that make or rearrange tensors."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm.relax.op.gradients import manipulate

pytestmark = pytest.mark.pure


# none flows into `full_like`, not even from what fills the tensor
WITH_SLOPE = [case for case in cases_of(manipulate) if case.op != "full_like"]


@pytest.mark.parametrize("case", WITH_SLOPE, ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)
