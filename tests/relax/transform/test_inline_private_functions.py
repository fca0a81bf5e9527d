"""InlinePrivateFunctions."""

import numpy as np
import pytest

import tvm
from tests.relax.programs import RelaxPassTest, calls, run_interp
from tvm import relax
from tvm.relax.transform import InlinePrivateFunctions, LambdaLift
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestCalls(RelaxPassTest):
    run = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = R.add(x, x)
            return y

        @R.function(private=True)
        def four_times(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = Before.twice(x)
            z = Before.twice(y)
            return z

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y: R.Tensor((4,), "float32") = Before.four_times(x)
            return y

    def test_functions(self):
        after = self._after()
        assert [v.name_hint for v in after.functions] == ["main"]
        assert calls(after) == ["relax.add", "relax.add"]


class TestPublicAndMarkedFunctionsStay(RelaxPassTest):
    run = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @R.function
        def public(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.add(x, x)
            return y

        @R.function(private=True)
        def group(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Primitive": True})
            y = R.exp(x)
            return y

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = Before.public(x)
            z = Before.group(y)
            return z

    Expected = Before


class TestRecursionStays(RelaxPassTest):
    run = InlinePrivateFunctions()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(private=True)
        def loop(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = Before.loop(x)
            return y

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = Before.loop(x)
            return y

    Expected = Before


class TestAnArgumentOfUnknownSize(RelaxPassTest):
    """What the body needs to know of it is matched."""

    run = InlinePrivateFunctions()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(private=True)
        def ones(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
            n = T.int64()
            z = R.ones(R.shape([n]), "float32")
            return R.add(z, y)

        @R.function
        def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
            y: R.Tensor(ndim=1, dtype="float32") = Before.ones(x, x)
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
            n = T.int64()
            x_1 = R.match_cast(x, R.Tensor((n,), "float32"))
            z = R.ones(R.shape([n]), "float32")
            y = R.add(z, x)
            return y


def test_what_functions_that_are_used_as_values_call_stays() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            @R.function
            def outer(c: R.Tensor((4,), "float32")):
                @R.function
                def inner(d: R.Tensor((4,), "float32")):
                    s = R.add(x, d)
                    return s

                return inner(c)

            r = outer(y)
            return r

    after = InlinePrivateFunctions()(LambdaLift()(Mod))
    assert relax.analysis.well_formed(after)
    x, y = np.arange(4, dtype="float32"), np.ones(4, "float32")
    np.testing.assert_array_equal(run_interp(after, [x, y]), x + y)


def test_what_nobody_needs_goes_too():
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def unused(x: R.Tensor((4,), "float32")):
            return R.exp(x)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.sin(x)
            return x

    after = InlinePrivateFunctions()(Mod)
    assert [var.name_hint for var in after.functions] == ["main"]
    assert not after["main"].body.blocks


def test_every_function_is_canonical_afterwards() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def unused(x: R.Tensor((4,), "float32")):
            return R.exp(x)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.match_cast(x, R.Tensor((4,), "float32"))
            z = R.exp(y)
            t = (z, x)
            u = t[0]
            return u

    func = InlinePrivateFunctions()(Mod)["main"]
    (binding,) = func.body.blocks[0].bindings
    assert str(binding.value.op) == "Op(relax.exp)"
    assert func.body.body is binding.var
    alone = tvm.IRModule({"main": Mod["main"]})
    assert InlinePrivateFunctions()(alone) is alone  # nothing is private
