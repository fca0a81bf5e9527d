"""Gradients of the operators that gradients are written with."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm.relax.op.gradients import backward

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(backward), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)
