"""The short form of a pass's test, in all the forms of a program."""

from __future__ import annotations

import pytest

import tvm
import tvm.testing
from tvm.script import ir as I
from tvm.script import tir as T

pytestmark = pytest.mark.pure
N = 4


class TestUndecorated(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    def before(A: T.Buffer(N, "int32")):
        for i in range(N):
            A[i] = i + 1 - 1

    def expected(A: T.Buffer(N, "int32")):
        for i in range(N):
            A[i] = i


class TestDecorated(tvm.testing.CompareBeforeAfter):
    size = tvm.testing.parameter(1, 2)

    def transform(self):
        return tvm.tir.transform.Simplify()

    def before(self, size):
        @T.prim_func
        def func(A: T.Buffer(size, "int32")):
            A[0] = size + 0

        return func

    @tvm.testing.fixture
    def expected(self, size):
        @T.prim_func
        def func(A: T.Buffer(size, "int32")):
            A[0] = size

        return func


class TestModules(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    @I.ir_module
    class before:
        @T.prim_func
        def main(A: T.Buffer(4, "int32")):
            A[0] = A[1] * 1

    class expected:
        @T.prim_func
        def main(A: T.Buffer(4, "int32")):
            A[0] = A[1]


class TestRaised(tvm.testing.CompareBeforeAfter):
    def transform(self):
        def refuse(mod):
            raise tvm.TVMError(f"no {mod}")

        return refuse

    @T.prim_func
    def before(A: T.Buffer(4, "int32")):
        A[0] = 1

    expected = tvm.TVMError


class TestCapitals(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    def Before(A: T.Buffer(4, "int32")):
        A[0] = A[1] + 0

    def Expected(A: T.Buffer(4, "int32")):
        A[0] = A[1]

    def test_fixtures(self, before, expected, transform):
        after = transform(before)
        assert isinstance(after, tvm.tir.PrimFunc)
        tvm.ir.assert_structural_equal(after.body, expected.body, map_free_vars=True)
        with pytest.raises(TypeError, match="a function or a module, found str"):
            transform("A[0] = 1")


def test_two_names_of_one_program_are_refused() -> None:
    with pytest.raises(AssertionError, match="has both before and Before"):
        type("TestBoth", (tvm.testing.CompareBeforeAfter,), {"before": 1, "Before": 2})


def test_a_difference_fails() -> None:
    case = tvm.testing.CompareBeforeAfter()

    @T.prim_func
    def one(A: T.Buffer(4, "int32")):
        A[0] = 1

    @T.prim_func
    def two(A: T.Buffer(4, "int32")):
        A[0] = 2

    with pytest.raises(ValueError, match="StructuralEqual"):
        case.test_compare(one, two, lambda mod: mod)


class TestNameless(tvm.testing.CompareBeforeAfter):
    """A pass that makes a function without a name."""

    def transform(self):
        @tvm.tir.transform.prim_func_pass(opt_level=0)
        def bare(func, mod, ctx):
            return tvm.tir.PrimFunc(func.params, func.body, None, func.buffer_map)

        return bare

    def before(A: T.Buffer(4, "int32")):
        A[0] = 1

    def expected(A: T.Buffer(4, "int32")):
        A[0] = 1


class TestMethodsWithoutDecorator(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    class before:
        def f(A: T.Buffer(N, "int32")):
            A[0] = A[1] * 1

        @T.prim_func
        def g(A: T.Buffer(4, "int32")):
            A[0] = A[2] + 0

    class expected:
        def f(A: T.Buffer(4, "int32")):
            A[0] = A[1]

        def g(A: T.Buffer(4, "int32")):
            A[0] = A[2]

    def test_names(self, before):
        assert [func.attrs["global_symbol"] for func in before.functions.values()] == ["f", "g"]
