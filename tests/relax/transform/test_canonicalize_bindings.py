"""CanonicalizeBindings: no names for names."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestNames(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = x
            z = y
            a = R.add(z, y)
            b = a
            return b

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.add(x, x)
            return a


class TestResultsOfDataflow(RelaxPassTest):
    """The inner value becomes the result that renamed it."""

    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = lv
                lv2 = R.add(lv1, lv)
                gv = lv2
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.add(lv, lv)
                R.output(gv)
            return gv


class TestTwoResultsOfOneValue(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = lv
                gv1 = lv
                R.output(gv, gv1)
            r = R.add(gv, gv1)
            return r

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = R.exp(x)
                R.output(gv)
            r = R.add(gv, gv)
            return r


class TestAParameterAsResult(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = x
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return x


class TestItemsOfTuples(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            t = (x, (y, x))
            a = t[1]
            b = a[0]
            c = R.add(b, x)
            return c

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            t = (x, (y, x))
            a = (y, x)
            c = R.add(y, x)
            return c


class TestCasts(RelaxPassTest):
    """A cast that promises what is known already goes, one that binds a size stays."""

    run = CanonicalizeBindings()
    sizes = {"n": 4}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            n, m = T.int64(), T.int64()
            y = R.match_cast(x, R.Tensor((n,), "float32"))
            z = R.match_cast(y, R.Tensor((m,), "float32"))
            w = R.exp(z)
            return w

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            n, m = T.int64(), T.int64()
            z = R.match_cast(x, R.Tensor((m,), "float32"))
            w = R.exp(z)
            return w


class TestUnreadResults(RelaxPassTest):
    """Results of a dataflow block that only the block reads are inner values."""

    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = R.exp(x)
                gv1 = R.add(gv, gv)
                R.output(gv, gv1)
            return gv1

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv1 = R.add(lv, lv)
                R.output(gv1)
            return gv1


class TestBranches(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            y = x
            if c:
                a = y
                b = R.exp(a)
                r = b
            else:
                r = R.negative(y)
            return r

    def test_no_names_are_left(self):
        (binding,) = self._after()["main"].body.blocks[0].bindings
        for branch in (binding.value.true_branch, binding.value.false_branch):
            assert sum(len(block.bindings) for block in branch.blocks) == 1


class TestAWiderPromiseStays(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y: R.Tensor(ndim=1, dtype="float32") = x
            return y

    Expected = Before


def test_canonical_functions_stay_the_same():
    mod = TestResultsOfDataflow.Expected
    assert CanonicalizeBindings()(mod)["main"] is mod["main"]
