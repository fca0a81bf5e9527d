"""Gradients of attention."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm.relax.op.gradients import attention

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(attention), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)
