"""Decorated classes of users."""

from __future__ import annotations

import pytest

from tvm.relax import PyExprMutator, PyExprVisitor
from tvm.relax.expr_functor import mutator, visitor
from tvm.runtime import derived_object
from tvm.support.derived import derived
from tvm.tir import PyStmtExprVisitor
from tvm.tir import functor as tir_functor

pytestmark = pytest.mark.pure


def test_a_decorated_class_is_like_the_one_that_was_written() -> None:
    @derived
    class Mine(dict):
        """A user's class."""

        def get(self, key, default=None):
            return super().get(key, default) or "none"

    assert (Mine.__name__, Mine.__doc__) == ("Mine", "A user's class.")
    assert Mine(a=1).get("a") == 1
    assert Mine().get("a") == "none"
    assert isinstance(Mine(), Mine._cls)


@pytest.mark.parametrize(
    ("decorate", "base"),
    [(visitor, PyExprVisitor), (mutator, PyExprMutator), (derived_object, object),
     (tir_functor.visitor, PyStmtExprVisitor)],
)  # fmt: skip
def test_what_is_written_may_be_derived_from_and_what_is_decorated_may_not(decorate, base) -> None:
    @decorate
    class Inner(base):
        def value(self):
            return ["inner"]

    @decorate
    class Leaf(Inner._cls):
        def value(self):
            return ["leaf", *super().value()]

    assert Leaf().value() == ["leaf", "inner"]
    with pytest.raises(TypeError, match="Inheritance from a decorated object `Wrong` is not"):

        @decorate
        class Wrong(Inner):
            pass


def test_an_instance_is_its_own_outer_object() -> None:
    @tir_functor.visitor
    class Counter(PyStmtExprVisitor):
        pass

    counter = Counter()
    assert counter._outer() is counter
