"""What gradient rules have in common: fitting shapes, errors."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax.op.gradients import common

pytestmark = pytest.mark.pure


def test_a_gradient_of_the_operand_s_shape_is_left_alone() -> None:
    n = tir.Var("n", "int64")
    grad, operand = var(n, 4), var(n, 4)
    assert common.fit(relax.BlockBuilder(), grad, operand) is grad
    summed = common.fit(relax.BlockBuilder(), grad, var(4))
    assert summed.op.name == "relax.collapse_sum_to"


def test_unknown_shapes_are_refused_with_what_to_do() -> None:
    with pytest.raises(TVMError, match="match_cast gives them"):
        common.extents(var(ndim=2))
    with pytest.raises(TVMError, match="must be constants"):
        common.numbers(var(tir.Var("n", "int64")))


def test_constants_have_the_type_of_their_example() -> None:
    assert common.const(2, var(3, dtype="float16")).struct_info.dtype == "float16"
