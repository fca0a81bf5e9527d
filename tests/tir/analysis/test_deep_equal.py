"""expr_deep_equal."""

import pytest

from tvm.tir import expr as e
from tvm.tir.analysis import expr_deep_equal

pytestmark = pytest.mark.pure


def test_variables_are_not_renamed() -> None:
    x, y = e.Var("x", "int32"), e.Var("y", "int32")
    assert expr_deep_equal(x + 1, x + 1)
    assert not expr_deep_equal(x + 1, y + 1)
    assert expr_deep_equal(3, e.IntImm("int32", 3))
