"""EliminateCommonSubexpr: equal values once."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import EliminateCommonSubexpr
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestCalls(RelaxPassTest):
    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                b = R.add(x, y)
                c = R.multiply(a, y)
                d = R.multiply(b, y)
                e = R.add(y, x)
                gv = R.add(R.add(c, d), e)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                b = a
                c = R.multiply(a, y)
                d = c
                e = R.add(y, x)
                gv = R.add(R.add(c, c), e)
                R.output(gv)
            return gv


class TestAttributesAndConstantsCount(RelaxPassTest):
    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            a = R.sum(x, axis=[0])
            b = R.sum(x, axis=[1])
            c = R.add(a, R.const(1.0, "float32"))
            d = R.add(a, R.const(2.0, "float32"))
            e = R.add(a, R.const(1.0, "float32"))
            return (b, c, d, e)

    def test_one_is_left_out(self):
        calls = [b.value for b in self._after()["main"].body.blocks[0].bindings]
        assert len([c for c in calls if type(c).__name__ == "Call"]) == 4


class TestResultsKeepTheirNames(RelaxPassTest):
    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.exp(x)
                gv1 = R.add(lv, lv)
                R.output(gv, gv1)
            return (gv, gv1)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = lv
                gv1 = R.add(lv, lv)
                R.output(gv, gv1)
            return (gv, gv1)


class TestEffectsStay(RelaxPassTest):
    run = EliminateCommonSubexpr()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            b = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
            d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
            return (a, b, c, d)

    def test_all_are_left(self):
        calls = [b.value for b in self._after()["main"].body.blocks[0].bindings]
        assert len([c for c in calls if type(c).__name__ == "Call"]) == 4


class TestBranches(RelaxPassTest):
    """What is known before a branch is known in it; what it learns is forgotten."""

    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            if c:
                b = R.exp(x)
                d = R.negative(x)
                r = R.add(b, d)
            else:
                e = R.negative(x)
                r = R.add(e, x)
            f = R.negative(x)
            s = R.add(r, f)
            return s

    @I.ir_module
    class Expected:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            if c:
                b = a
                d = R.negative(x)
                r = R.add(a, d)
            else:
                e = R.negative(x)
                r = R.add(e, x)
            f = R.negative(x)
            s = R.add(r, f)
            return s


class TestTuplesAndItems(RelaxPassTest):
    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = t[0]
            c = R.add(a, b)
            return c

    @I.ir_module
    class Expected:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = a
            c = R.add(a, a)
            return c


class TestCallsOnly(RelaxPassTest):
    run = EliminateCommonSubexpr(call_only=True)
    Before = TestTuplesAndItems.Before
    Expected = TestTuplesAndItems.Before


class TestValuesOfADataflowBlockEndWithIt(RelaxPassTest):
    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.add(lv, x)
                R.output(gv)
            a = R.exp(x)
            b = R.add(a, gv)
            return b

    Expected = Before


class TestBehindABlock(RelaxPassTest):
    """What is visible behind a block stands for the value there, and the first one within."""

    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                b = R.add(x, y)
                c = R.multiply(a, b)
                R.output(b, c)
            d = R.add(x, y)
            e = R.multiply(c, d)
            return e

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                b = a
                c = R.multiply(a, a)
                R.output(b, c)
            d = b
            e = R.multiply(c, b)
            return e


class TestEqualCasts(RelaxPassTest):
    """Casts of one value to one struct info are one; to another they are not."""

    run = EliminateCommonSubexpr()
    same_results = False  # the extent of y is not known

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
            n = T.int64()
            a = R.match_cast(y, R.Tensor((n,), "float32"))
            b = R.match_cast(y, R.Tensor((n,), "float32"))
            c = R.match_cast(y, R.Tensor((3,), "float32"))
            d = R.add(a, b)
            e = R.add(x, c)
            return (d, e)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
            n = T.int64()
            a = R.match_cast(y, R.Tensor((n,), "float32"))
            b = a
            c = R.match_cast(y, R.Tensor((3,), "float32"))
            d = R.add(a, a)
            e = R.add(x, c)
            return (d, e)


class TestValuesThatAreNoCalls(RelaxPassTest):
    """Constants, shapes and numbers that are bound again count as calls do; names do not."""

    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            a = R.const(2.0, "float32")
            b = R.const(2.0, "float32")
            c = R.multiply(x, a)
            d = R.multiply(x, b)
            e = R.shape([3])
            f = R.shape([3])
            return (c, d, e, f)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            a = R.const(2.0, "float32")
            b = a
            c = R.multiply(x, a)
            d = c
            e = R.shape([3])
            f = e
            return (c, c, e, e)


class TestResultsOfBlocksKeepTheirUsesOutside(RelaxPassTest):
    run = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(x)
                c = R.sin(b)
                R.output(a, b, c)
            d = R.add(a, b)
            return (c, d)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = a
                c = R.sin(a)
                R.output(a, b, c)
            d = R.add(a, b)
            return (c, d)
