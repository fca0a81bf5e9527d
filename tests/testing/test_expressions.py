"""Checks of integer expressions."""

from __future__ import annotations

import pytest

import tvm.testing
from tvm import tir
from tvm.arith import IntConstraints, IntConstraintsTransform
from tvm.ir import Range

pytestmark = pytest.mark.pure
x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
check = tvm.testing.check_int_constraints_trans_consistency


def test_proved_equal() -> None:
    tvm.testing.assert_prim_expr_equal((x + 1) * 2, x * 2 + 2)
    with pytest.raises(ValueError, match="are not equal"):
        tvm.testing.assert_prim_expr_equal(x, x + 1)


def test_all_values_are_tried() -> None:
    ranges = {x: Range(0, 4), y: Range(1, 3)}
    tvm.testing.check_bool_expr_is_true(x + y < 6, ranges)
    tvm.testing.check_bool_expr_is_true(x + y < 4, ranges, cond=x < 2)
    with pytest.raises(AssertionError, match="does not hold for x = 3, y = 2"):
        tvm.testing.check_bool_expr_is_true(x + y < 5, ranges)


def _shift(by: int) -> IntConstraintsTransform:
    here = IntConstraints([x], {x: Range(1, 5)}, [x >= 2])
    there = IntConstraints([y], {y: Range(0, 4)}, [y >= 1])
    return IntConstraintsTransform(here, there, {x: y + by}, {y: x - by})


def test_transforms_keep_the_solutions() -> None:
    check(_shift(1))
    with pytest.raises(AssertionError, match="does not hold for x"):
        check(_shift(2))


def test_transforms_need_ranges() -> None:
    free = IntConstraints([x], {}, [x >= 2])
    with pytest.raises(tvm.TVMError, match="found: no range for x"):
        check(IntConstraintsTransform(free, free, {x: x}, {x: x}))
