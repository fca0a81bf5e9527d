"""DeadCodeElimination: what nobody reads is gone, what has effects stays."""

from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import DeadCodeElimination
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestUnusedBindings(RelaxPassTest):
    run = DeadCodeElimination()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                b = R.exp(a)
                c = R.negative(b)
                d = R.nn.relu(x)
                gv = R.add(a, d)
                R.output(gv)
            unused = R.exp(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                d = R.nn.relu(x)
                gv = R.add(a, d)
                R.output(gv)
            return gv


class TestEffectsStay(RelaxPassTest):
    run = DeadCodeElimination()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.print(a, format="{}")
            c = R.call_packed("my.print", x, sinfo_args=R.Object)
            d = R.exp(x)
            return x

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.print(a, format="{}")
            c = R.call_packed("my.print", x, sinfo_args=R.Object)
            return x


class TestInsideOfBranches(RelaxPassTest):
    run = DeadCodeElimination()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            if c:
                dead = R.negative(y)
                a = R.add(y, x)
                r = R.add(a, x)
            else:
                dead = R.negative(y)
                r = R.nn.relu(x)
            return r

    @I.ir_module
    class Expected:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            if c:
                a = R.add(y, x)
                r = R.add(a, x)
            else:
                r = R.nn.relu(x)
            return r


class TestUnusedBranch(RelaxPassTest):
    run = DeadCodeElimination()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                r = R.add(x, x)
            else:
                r = R.nn.relu(x)
            return x

    @I.ir_module
    class Expected:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            return x


class TestCallsOfFunctions(RelaxPassTest):
    """A call of a pure function may go, one of an impure function may not."""

    run = DeadCodeElimination()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(private=True)
        def pure(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

        @R.function(private=True, pure=False)
        def impure(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.print(x, format="{}")
            return x

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            a = Before.pure(x)
            b = Before.impure(x)
            return x

    @I.ir_module
    class Expected:
        @R.function(private=True, pure=False)
        def impure(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.print(x, format="{}")
            return x

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            b = Expected.impure(x)
            return x


class TestUnreachedFunctions(RelaxPassTest):
    run = DeadCodeElimination()

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def used(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    y[vi] = x[vi]

        @T.prim_func(private=True)
        def unused(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    y[vi] = x[vi] + T.float32(1)

        @T.prim_func
        def public(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    y[vi] = x[vi] + T.float32(2)

        @R.function(private=True)
        def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            gv = R.call_tir(Before.used, (x,), R.Tensor((4,), "float32"))
            return gv

        @R.function(private=True)
        def alone(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            gv = R.call_tir(Before.unused, (x,), R.Tensor((4,), "float32"))
            return gv

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            gv = Before.helper(x)
            return gv

    def test_functions(self):
        names = {var.name_hint for var in self._after().functions}
        assert names == {"main", "helper", "used", "public"}


def test_entry_functions_say_what_is_kept():
    before = TestUnreachedFunctions.Before
    after = DeadCodeElimination(["alone"])(before)
    names = {var.name_hint for var in after.functions}
    assert names == {"main", "helper", "used", "public", "alone", "unused"}


def test_rejects_an_entry_function_that_is_not_there():
    with pytest.raises(ValueError, match="alo"):
        DeadCodeElimination(["alo"])(TestUnreachedFunctions.Before)


class TestReachedThroughALocalFunction(RelaxPassTest):
    run = DeadCodeElimination()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.exp(x)
            return y

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                dead = R.add(y, y)
                z = Before.helper(y)
                return z

            gv = inner(x)
            return gv

    def test_functions(self):
        assert {var.name_hint for var in self._after().functions} == {"main", "helper"}


class TestMatchCast(RelaxPassTest):
    """A cast that binds symbols stays, for it checks; so does what it checks."""

    run = DeadCodeElimination()
    sizes = {"n": 4}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = T.int64()
            y = R.exp(x)
            z = R.match_cast(y, R.Tensor((m,), "float32"))
            dead = R.exp(z)
            return x

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = T.int64()
            y = R.exp(x)
            z = R.match_cast(y, R.Tensor((m,), "float32"))
            return x


def test_nothing_dead_is_the_same_function():
    mod = TestEffectsStay.Expected
    assert DeadCodeElimination()(mod)["main"] is mod["main"]


def test_a_local_function_with_effects_stays() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            @R.function(pure=False)
            def loud(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                _ = R.print(y)
                return y

            @R.function
            def quiet(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                return y

            return x

    bindings = DeadCodeElimination()(Mod)["main"].body.blocks[0].bindings
    assert [binding.var.name_hint for binding in bindings] == ["loud"]
