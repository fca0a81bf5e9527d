"""LambdaLift: local functions become functions of the module."""

import numpy as np
import pytest

import tvm
from tests.relax.programs import RelaxPassTest, arguments, assert_same, run_compiled, run_interp
from tvm import relax
from tvm.relax.expr import Function
from tvm.relax.transform import LambdaLift
from tvm.relax.transform.rebuild import all_bindings
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def _is_flat(mod) -> bool:
    functions = [f for f in mod.functions.values() if isinstance(f, Function)]
    return not any(isinstance(b.value, Function) for f in functions for b in all_bindings(f))


class TestWithoutCaptures(RelaxPassTest):
    run = LambdaLift()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                s = R.add(y, y)
                return s

            z = inner(x)
            w = inner(z)
            return w

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def main_inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            s = R.add(y, y)
            return s

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            z = Expected.main_inner(x)
            w = Expected.main_inner(z)
            return w


class TestCaptures(RelaxPassTest):
    run = LambdaLift()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            c = R.exp(k)

            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                s = R.subtract(y, c)
                return s

            z = inner(x)
            return z

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def main_inner(y: R.Tensor((4,), "float32"), c: R.Tensor((4,), "float32")
                       ) -> R.Tensor((4,), "float32"):
            s = R.subtract(y, c)
            return s

        @R.function
        def main(x: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            c = R.exp(k)
            inner = R.make_closure(Expected.main_inner, (c,))
            z = R.invoke_pure_closure(inner, (x,), sinfo_args=R.Tensor((4,), "float32"))
            return z

    def test_runs_as_bytecode(self):
        mod = type(self).Before
        args = arguments(mod["main"])
        assert_same(run_interp(mod, args), run_compiled(self._after(), args, "bytecode"))


class TestNested(RelaxPassTest):
    run = LambdaLift()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def outer(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                @R.function
                def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                    s = R.subtract(z, y)
                    return s

                r = inner(x)
                return r

            w = outer(x)
            return w

    def test_no_local_function_is_left(self):
        assert _is_flat(self._after())
        assert len(self._after().functions) == 3


class TestRecursion(RelaxPassTest):
    run = LambdaLift()

    @I.ir_module
    class Before:
        @R.function
        def main(n: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            @R.function
            def loop(i: R.Tensor((), "int32"), y: R.Tensor((4,), "float32")
                     ) -> R.Tensor((4,), "float32"):
                stop = R.less_equal(i, R.const(0, "int32"))
                if stop:
                    r = y
                else:
                    j = R.subtract(i, R.const(1, "int32"))
                    s = R.add(y, x)
                    r = loop(j, s)
                return r

            z = loop(n, x)
            return z

    def test_counts(self):
        x = np.ones(4, "float32")
        args = [np.array(3, "int32"), x]
        assert _is_flat(self._after())
        np.testing.assert_allclose(run_interp(self._after(), args), x * 4)


def test_a_module_without_local_functions_stays_the_same():
    mod = TestCaptures.Expected
    assert LambdaLift()(mod) is mod


def test_names_show_the_way_only_where_they_must():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            @R.function
            def outer(c: R.Tensor((4,), "float32")):
                @R.function
                def inner(y: R.Tensor((4,), "float32")):
                    z = R.add(y, c)
                    return z

                return inner

            @R.function
            def other(y: R.Tensor((4,), "float32")):
                @R.function
                def inner(z: R.Tensor((4,), "float32")):
                    w = R.negative(z)
                    return w

                return inner(y)

            f = outer(x)
            g = R.invoke_pure_closure(f, (x,), sinfo_args=R.Tensor((4,), "float32"))
            h = other(g)
            return h

    names = {var.name_hint for var in LambdaLift()(Before).get_global_vars()}
    assert names == {"main", "main_outer", "main_outer_inner", "main_other", "main_other_inner"}


class TestGivesAClosure(RelaxPassTest):
    """What gives a closure gives an object; calls of it, here and in callers, invoke it."""

    run = LambdaLift()

    @I.ir_module
    class Before:
        @R.function
        def maker(k: R.Tensor((4,), "float32")):
            @R.function
            def adder(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                s = R.add(y, k)
                return s

            return adder

        @R.function
        def caller(k: R.Tensor((4,), "float32")):
            f = Before.maker(k)
            return (f, k)

        @R.function
        def main(x: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            p = Before.caller(k)
            f = p[0]
            z = f(x)
            return z

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def maker_adder(y: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")
                        ) -> R.Tensor((4,), "float32"):
            s = R.add(y, k)
            return s

        @R.function
        def maker(k: R.Tensor((4,), "float32")) -> R.Object:
            adder = R.make_closure(Expected.maker_adder, (k,))
            return adder

        @R.function
        def caller(k: R.Tensor((4,), "float32")) -> R.Tuple(R.Object, R.Tensor((4,), "float32")):
            f: R.Object = Expected.maker(k)
            return (f, k)

        @R.function
        def main(x: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            p: R.Tuple(R.Object, R.Tensor((4,), "float32")) = Expected.caller(k)
            f: R.Object = p[0]
            z = R.invoke_pure_closure(f, (x,), sinfo_args=R.Tensor((4,), "float32"))
            return z


@pytest.mark.cpu
@pytest.mark.parametrize("level", [0, 1, 2])
def test_local_functions_are_compiled_at_every_level(level: int):
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            @R.function
            def doubled(a: R.Tensor((3,), "float32")):
                s = R.add(a, a)
                return s

            y = doubled(x)
            return y

    with tvm.transform.PassContext(opt_level=level):
        built = relax.build(Mod, "llvm")
    ones = tvm.runtime.tensor(np.ones(3, "float32"))
    found = relax.VirtualMachine(built, tvm.cpu())["main"](ones)
    np.testing.assert_array_equal(found.numpy(), np.full(3, 2, "float32"))


def test_closures_are_given_where_functions_are_taken() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def twice(
            f: R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")),
            x: R.Tensor((4,), "float32"),
        ) -> R.Tensor((4,), "float32"):
            a = f(x)
            b = f(a)
            return b

        @R.function(private=True)
        def added(
            c: R.Tensor((4,), "float32"),
        ) -> R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")):
            @R.function
            def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                r = R.add(z, c)
                return r

            return inner

        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            cls = Mod
            f = cls.added(x)
            a = cls.twice(f, y)
            t = (f, a)
            g = t[0]
            b = cls.twice(g, a)
            return (a, b)

    lifted = LambdaLift()(Mod)
    assert relax.analysis.well_formed(lifted)
    assert lifted["added"].ret_struct_info == relax.ObjectStructInfo()
    assert lifted["main"].script().count("R.match_cast(") == 2
    args = arguments(Mod["main"])
    assert_same(run_interp(Mod, args), run_interp(lifted, args))
