"""Gradients of operators on elements."""

from __future__ import annotations

import re

import pytest

from tests.relax.op.cases import Case
from tests.relax.op.gradients.slopes import cases_of, check_slope
from tvm import relax
from tvm.relax.op.gradients import elementwise
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("case", cases_of(elementwise), ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    check_slope(case)


def test_ties_of_a_minimum_belong_to_its_second_operand() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
            with R.dataflow():
                m = R.minimum(x, y)
                s = R.sum(m)
                R.output(s)
            return s

    text = str(relax.transform.Gradient("main")(Mod)["main_adjoint"])
    assert re.findall(r"R\.(greater_equal|less)\((\w), (\w)\)", text) == [
        ("greater_equal", "x", "y"), ("less", "x", "y"),
    ]  # fmt: skip
