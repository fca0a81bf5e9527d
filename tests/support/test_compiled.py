"""What is said to mypyc changes nothing in plain Python."""

from __future__ import annotations

import copy
import pickle

import pytest

import tvm
from tvm.ir import Range
from tvm.ir.expr import ExprOp, RelaxExpr
from tvm.support.compiled import hashed_by_identity, is_compiled, mypyc_attr

pytestmark = pytest.mark.pure


def test_marks_leave_a_class_as_it_is() -> None:
    class Marked: ...

    assert mypyc_attr(allow_interpreted_subclasses=True)(Marked) is Marked
    assert not is_compiled(Marked)


def test_identity_is_hashed_by_pythons_own_function() -> None:
    class Compared:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    hashed_by_identity(Compared)
    assert Compared.__hash__ is object.__hash__
    for cls in (ExprOp, RelaxExpr):
        assert is_compiled(cls) or cls.__hash__ is object.__hash__


def test_a_range_of_a_length_is_made_copied_and_pickled() -> None:
    n = tvm.tir.Var("n", "int64")
    made = Range.from_min_extent(n, 4)
    assert made.min is n
    assert (made.extent.value, made.extent.dtype) == (4, "int64")
    for other in (copy.copy(made), pickle.loads(pickle.dumps(made))):
        tvm.ir.assert_structural_equal(other.extent, made.extent)
