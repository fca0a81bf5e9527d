"""What is said to mypyc changes nothing in plain Python."""

from __future__ import annotations

import copy
import pickle

import pytest

import tvm
from tvm.ir import Range
from tvm.ir.expr import ExprOp, RelaxExpr
from tvm.support.compiled import called, hashed_by_identity, is_compiled, mypyc_attr

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


def test_objects_of_a_class_are_called_as_a_function_says() -> None:
    class Called:
        def __init__(self, start: int) -> None:
            self.start = start

    def plus(made: Called, *more: int, factor: int = 1) -> int:
        """The sum."""
        return (made.start + sum(more)) * factor

    called(Called, plus)
    assert Called(3)(4, 5, factor=2) == 24  # type: ignore[operator]
    assert Called.__call__.__doc__ == "The sum."


def test_a_global_var_is_called_in_the_dialect_of_its_arguments() -> None:
    var, n = tvm.ir.GlobalVar("f"), tvm.tir.Var("n", "int32")
    assert isinstance(var(n, 1), tvm.tir.Call)
    assert isinstance(var(tvm.relax.Var("x", tvm.relax.TensorStructInfo((3,), "float32"))),
                      tvm.relax.Call)  # fmt: skip
    assert var.span is None


def test_a_range_of_a_length_is_made_copied_and_pickled() -> None:
    n = tvm.tir.Var("n", "int64")
    made = Range.from_min_extent(n, 4)
    assert made.min is n
    assert (made.extent.value, made.extent.dtype) == (4, "int64")
    for other in (copy.copy(made), pickle.loads(pickle.dumps(made))):
        tvm.ir.assert_structural_equal(other.extent, made.extent)
