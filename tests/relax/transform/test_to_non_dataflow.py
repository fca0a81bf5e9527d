"""ToNonDataflow."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import ToNonDataflow
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestBlocks(RelaxPassTest):
    run = ToNonDataflow()
    sizes = {"n": 4}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = T.int64()
            with R.dataflow():
                a = R.exp(x)
                b = R.match_cast(a, R.Tensor((m,), "float32"))
                gv = R.add(b, b)
                R.output(gv)
            c = R.negative(gv)
            with R.dataflow():
                d = (c, gv)
                e = d[0]
                gv1 = R.add(e, c)
                R.output(gv1)
            return gv1

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = T.int64()
            a = R.exp(x)
            b = R.match_cast(a, R.Tensor((m,), "float32"))
            gv = R.add(b, b)
            c = R.negative(gv)
            d = (c, gv)
            e = d[0]
            gv1 = R.add(e, c)
            return gv1


class TestInsideOfBranches(RelaxPassTest):
    run = ToNonDataflow()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                with R.dataflow():
                    a = R.exp(x)
                    gv = R.add(a, a)
                    R.output(gv)
                r = R.negative(gv)
            else:
                r = R.add(x, x)
            return r

    @I.ir_module
    class Expected:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                a = R.exp(x)
                gv = R.add(a, a)
                r = R.negative(gv)
            else:
                r = R.add(x, x)
            return r


def test_a_function_without_dataflow_is_the_same():
    mod = TestBlocks.Expected
    assert ToNonDataflow()(mod)["main"] is mod["main"]
