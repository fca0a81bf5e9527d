from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import ExpandMatmulOfSum
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class TestASum(RelaxPassTest):
    run = ExpandMatmulOfSum()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([3, 16], "float32"),
            a: R.Tensor([16, 8], "float32"),
            b: R.Tensor([16, 8], "float32"),
        ) -> R.Tensor([3, 8], "float32"):
            with R.dataflow():
                c = R.add(a, b)
                out = R.matmul(x, c)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor([3, 16], "float32"),
            a: R.Tensor([16, 8], "float32"),
            b: R.Tensor([16, 8], "float32"),
        ) -> R.Tensor([3, 8], "float32"):
            with R.dataflow():
                lhs = R.matmul(x, a)
                rhs = R.matmul(x, b)
                out = R.add(lhs, rhs)
                R.output(out)
            return out


class TestASumKnownWhileCompiling(RelaxPassTest):
    run = ExpandMatmulOfSum()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([3, 16], "float32"),
            a: R.Tensor([16, 8], "float32"),
            b: R.Tensor([16, 8], "float32"),
        ) -> R.Tensor([3, 8], "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                c = R.add(a, b)
                out = R.matmul(x, c)
                R.output(out)
            return out

    Expected = Before


class TestASumThatBroadcasts(RelaxPassTest):
    run = ExpandMatmulOfSum()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([3, 16], "float32"),
            a: R.Tensor([16, 8], "float32"),
            b: R.Tensor([8], "float32"),
        ) -> R.Tensor([3, 8], "float32"):
            with R.dataflow():
                c = R.add(a, b)
                out = R.matmul(x, c)
                R.output(out)
            return out

    Expected = Before


class TestAnotherNameOfTheProduct(RelaxPassTest):
    run = ExpandMatmulOfSum()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([3, 16], "float32"),
            a: R.Tensor([16, 8], "float32"),
            b: R.Tensor([16, 8], "float32"),
        ) -> R.Tensor([3, 8], "float32"):
            with R.dataflow():
                product = R.matmul(x, R.add(a, b))
                out = product
                R.output(out)
            return out

    Expected = TestASum.Expected


class TestASumThatIsTransposed(RelaxPassTest):
    run = ExpandMatmulOfSum()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([3, 2, 16], "float32"),
            a: R.Tensor([3, 8, 16], "float32"),
            b: R.Tensor([3, 8, 16], "float32"),
        ) -> R.Tensor([3, 2, 8], "float32"):
            with R.dataflow():
                c = R.add(a, b)
                t = R.permute_dims(c, axes=[0, 2, 1])
                out = R.matmul(x, t)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor([3, 2, 16], "float32"),
            a: R.Tensor([3, 8, 16], "float32"),
            b: R.Tensor([3, 8, 16], "float32"),
        ) -> R.Tensor([3, 2, 8], "float32"):
            with R.dataflow():
                at = R.permute_dims(a, axes=[0, 2, 1])
                lhs = R.matmul(x, at)
                bt = R.permute_dims(b, axes=[0, 2, 1])
                rhs = R.matmul(x, bt)
                out = R.add(lhs, rhs)
                R.output(out)
            return out
