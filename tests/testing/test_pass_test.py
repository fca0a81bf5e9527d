"""The checks of PassTest find what they are for."""

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest, as_module
from tvm.tir import BufferStore, Evaluate, Var
from tvm.tir.transform import Apply

pytestmark = pytest.mark.pure


@T.prim_func
def before(A: T.Buffer((4,), "int32")):
    A[0] = 1


@T.prim_func
def other(A: T.Buffer((4,), "int32")):
    A[0] = 2


def case(change, expected=None):
    class Case(PassTest):
        run = Apply(change)
        Before = before
        Expected = expected

    return Case()


def test_a_good_pass():
    good = case(lambda f: f, before)
    good.test_gives_expected()
    good.test_is_well_formed()
    good.test_prints_and_parses_back()
    good.test_gives_the_same_results()


def test_another_program():
    with pytest.raises(ValueError, match="StructuralEqual"):
        case(lambda f: f, other).test_gives_expected()


def test_other_results():
    with pytest.raises(AssertionError):
        case(lambda f: other).test_gives_the_same_results()


def test_programs_that_are_not_well_formed():
    def use_a_stranger(func):
        (buffer,) = func.buffer_map.values()
        return func.with_body(BufferStore(buffer, Var("stranger"), [0]))

    with pytest.raises(AssertionError):
        case(use_a_stranger).test_is_well_formed()


def test_expected_errors():
    def refuse(func):
        raise KeyError("no")

    case(refuse, KeyError).test_gives_expected()
    with pytest.raises(AssertionError, match="did not raise KeyError"):
        case(lambda f: f, KeyError).test_gives_expected()


def test_what_stands_for_a_module():
    class Functions:
        main = before

    mod = as_module(before)
    assert as_module(mod) is mod
    assert [v.name_hint for v in as_module(Functions).get_global_vars()] == ["main"]
    assert isinstance(as_module(lambda: before), IRModule)
    assert as_module(before.with_body(Evaluate(0)))["main"] is not None
