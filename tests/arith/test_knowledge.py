from __future__ import annotations

import pytest

from tvm import arith, tir
from tvm.arith.knowledge import MAX_DEPTH


@pytest.mark.pure
def test_deep_expressions_need_no_recursion() -> None:
    x = tir.Var("x", "int64")
    total = x * 4
    for _ in range(40 * MAX_DEPTH):
        total = total + x * 4
    ana = arith.Analyzer()
    residue = ana.modular_set(total)
    assert (residue.coeff, residue.base) == (4, 0)
    ana.update(x, arith.ConstIntBound(0, 1))
    bound = ana.const_int_bound(total)
    assert (bound.min_value, bound.max_value) == (0, 4 * (40 * MAX_DEPTH + 1))


@pytest.mark.pure
def test_new_facts_are_not_hidden_by_what_is_remembered() -> None:
    x = tir.Var("x", "int32")
    ana = arith.Analyzer()
    before = ana.const_int_bound(x + 1)
    ana.update(x, arith.ConstIntBound(0, 7))
    after = ana.const_int_bound(x + 1)
    assert before.max_value != 8
    assert (after.min_value, after.max_value) == (1, 8)
