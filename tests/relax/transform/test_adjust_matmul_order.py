from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import AdjustMatmulOrder
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestTheRightProductFirst(RelaxPassTest):
    run = AdjustMatmulOrder()
    tolerance = 1e-3

    @I.ir_module
    class Before:
        @R.function
        def main(
            a: R.Tensor([32, 4], "float32"),
            b: R.Tensor([4, 16], "float32"),
            x: R.Tensor([16], "float32"),
            y: R.Tensor([16, 1], "float32"),
        ):
            with R.dataflow():
                w = R.matmul(a, b)
                out = R.matmul(w, y)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            a: R.Tensor([32, 4], "float32"),
            b: R.Tensor([4, 16], "float32"),
            x: R.Tensor([16], "float32"),
            y: R.Tensor([16, 1], "float32"),
        ):
            with R.dataflow():
                lv = R.matmul(b, y)
                out = R.matmul(a, lv)
                R.output(out)
            return out


class TestTheLeftProductFirst(RelaxPassTest):
    run = AdjustMatmulOrder()
    tolerance = 1e-3

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([1, 16], "float32"),
            a: R.Tensor([16, 4], "float32"),
            b: R.Tensor([4, 32], "float32"),
        ):
            with R.dataflow():
                w = R.matmul(a, b)
                out = R.matmul(x, w)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor([1, 16], "float32"),
            a: R.Tensor([16, 4], "float32"),
            b: R.Tensor([4, 32], "float32"),
        ):
            with R.dataflow():
                lv = R.matmul(x, a)
                out = R.matmul(lv, b)
                R.output(out)
            return out


class TestSizesThatAreNotKnown(RelaxPassTest):
    run = AdjustMatmulOrder()
    tolerance = 1e-3
    sizes = {"r": 3}

    @I.ir_module
    class Before:
        @R.function
        def main(
            a: R.Tensor([32, "r"], "float32"),
            b: R.Tensor(["r", 16], "float32"),
            x: R.Tensor([16, 1], "float32"),
        ):
            r = T.int64()
            with R.dataflow():
                w: R.Tensor([32, 16], "float32") = R.matmul(a, b)
                out: R.Tensor([32, 1], "float32") = R.matmul(w, x)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            a: R.Tensor([32, "r"], "float32"),
            b: R.Tensor(["r", 16], "float32"),
            x: R.Tensor([16, 1], "float32"),
        ):
            r = T.int64()
            with R.dataflow():
                lv: R.Tensor([r, 1], "float32") = R.matmul(b, x)
                out: R.Tensor([32, 1], "float32") = R.matmul(a, lv)
                R.output(out)
            return out


class TestWeightsStayTogether(RelaxPassTest):
    run = AdjustMatmulOrder()
    tolerance = 1e-3

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([1, 16], "float32"),
            a: R.Tensor([16, 4], "float32"),
            b: R.Tensor([4, 32], "float32"),
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                w = R.matmul(a, b)
                out = R.matmul(x, w)
                R.output(out)
            return out

    Expected = Before


class TestTheCheaperOrderStays(RelaxPassTest):
    run = AdjustMatmulOrder()
    tolerance = 1e-3
    Before = TestTheRightProductFirst.Expected
    Expected = TestTheRightProductFirst.Expected
