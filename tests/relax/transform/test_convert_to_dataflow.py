"""ConvertToDataflow: runs of pure bindings."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.ir import assert_structural_equal
from tvm.relax.transform import ConvertToDataflow
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestRuns(RelaxPassTest):
    run = ConvertToDataflow()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.add(x, x)
            b = R.multiply(a, x)
            _ = R.print(b, format="{}")
            c = R.exp(b)
            _1 = R.print(c, format="{}")
            d = R.exp(c)
            e = R.negative(d)
            return e

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                b = R.multiply(a, x)
                R.output(b)
            _ = R.print(b, format="{}")
            c = R.exp(b)
            _1 = R.print(c, format="{}")
            with R.dataflow():
                d = R.exp(c)
                e = R.negative(d)
                R.output(e)
            return e


class TestShorterRuns(RelaxPassTest):
    run = ConvertToDataflow(min_size=1)
    same_results = False
    Before = TestRuns.Before

    def test_every_run_is_dataflow(self):
        kinds = [type(b).__name__ for b in self._after()["main"].body.blocks]
        assert kinds == ["DataflowBlock", "BindingBlock"] * 2 + ["DataflowBlock"]


class TestLongerRuns(RelaxPassTest):
    run = ConvertToDataflow(min_size=3)
    same_results = False
    Before = TestRuns.Before
    Expected = TestRuns.Before


class TestBranches(RelaxPassTest):
    run = ConvertToDataflow()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            a = R.add(x, x)
            b = R.exp(a)
            if c:
                d = R.exp(b)
                e = R.add(d, d)
                r = R.add(e, b)
            else:
                r = R.negative(b)
            return r

    def test_blocks(self):
        main = self._after()["main"]
        kinds = [type(b).__name__ for b in main.body.blocks]
        assert kinds == ["DataflowBlock", "BindingBlock"]
        branch = main.body.blocks[1].bindings[0].value.true_branch
        assert type(branch.blocks[0]).__name__ == "DataflowBlock"


class TestDataflowBlocksAreJoined(RelaxPassTest):
    run = ConvertToDataflow()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                gv = R.exp(a)
                R.output(gv)
            b = R.add(gv, gv)
            c = R.exp(b)
            return c

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                gv = R.exp(a)
                b = R.add(gv, gv)
                c = R.exp(b)
                R.output(c)
            return c


def test_casts_count_and_blocks_that_are_there_are_made_canonical():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), s: R.Shape(ndim=1)):
            m = T.int64()
            a = R.match_cast(s, R.Shape([m]))
            b = R.exp(x)
            return b

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = x
                b = R.exp(a)
                R.output(a, b)
            return b

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), s: R.Shape(ndim=1)):
            m = T.int64()
            with R.dataflow():
                a = R.match_cast(s, R.Shape([m]))
                b = R.exp(x)
                R.output(b)
            return b

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                b = R.exp(x)
                R.output(b)
            return b

    assert_structural_equal(ConvertToDataflow(min_size=2)(Before), Expected)
