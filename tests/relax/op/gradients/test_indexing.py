"""Gradients of reading and writing at places."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm.relax.op.gradients import indexing

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(indexing), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)
