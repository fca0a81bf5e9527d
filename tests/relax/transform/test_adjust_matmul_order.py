from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.ir import IRModule, assert_structural_equal
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


class TestVectors(RelaxPassTest):
    """A vector on the left is a row; with a low rank between two weights they come one by one."""

    run = AdjustMatmulOrder()
    tolerance = 1e-3
    sizes = {"k": 3, "r": 5}

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((24,), "float32"),
            a: R.Tensor((24, 3), "float32"),
            b: R.Tensor((3, 40), "float32"),
            z: R.Tensor(("k", 1, 24), "float32"),
            c: R.Tensor((24, "r"), "float32"),
            d: R.Tensor(("r", 40), "float32"),
        ):
            with R.dataflow():
                w = R.matmul(a, b)
                y = R.matmul(x, w)
                v = R.matmul(c, d)
                u = R.matmul(z, v)
                R.output(y, u)
            return y, u

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((24,), "float32"),
            a: R.Tensor((24, 3), "float32"),
            b: R.Tensor((3, 40), "float32"),
            z: R.Tensor(("k", 1, 24), "float32"),
            c: R.Tensor((24, "r"), "float32"),
            d: R.Tensor(("r", 40), "float32"),
        ):
            with R.dataflow():
                w = R.matmul(x, a)
                y = R.matmul(w, b)
                v = R.matmul(z, c)
                u = R.matmul(v, d)
                R.output(y, u)
            return y, u


class TestTransposedProducts(RelaxPassTest):
    run = AdjustMatmulOrder()
    tolerance = 1e-3

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((24,), "float32"),
            a: R.Tensor((40, 3), "float32"),
            b: R.Tensor((3, 24), "float32"),
            z: R.Tensor((40,), "float32"),
        ):
            with R.dataflow():
                w = R.matmul(a, b)
                w_t = R.permute_dims(w)
                y = R.matmul(x, w_t)
                u = R.matmul(w_t, z)
                R.output(y, u)
            return y, u

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((24,), "float32"),
            a: R.Tensor((40, 3), "float32"),
            b: R.Tensor((3, 24), "float32"),
            z: R.Tensor((40,), "float32"),
        ):
            with R.dataflow():
                b_t = R.permute_dims(b)
                p = R.matmul(x, b_t)
                a_t = R.permute_dims(a)
                y = R.matmul(p, a_t)
                q = R.matmul(a_t, z)
                u = R.matmul(b_t, q)
                R.output(y, u)
            return y, u


def _low_rank(bound: int) -> IRModule:
    @I.ir_module
    class Mod:
        @R.function
        def main(
            x: R.Tensor(("k", 64), "float32"),
            a: R.Tensor((64, "r"), "float32"),
            b: R.Tensor(("r", 64), "float32"),
        ):
            R.func_attr({"tir_var_upper_bound": {"r": bound}})
            with R.dataflow():
                w = R.matmul(a, b)
                y = R.matmul(x, w)
                R.output(y)
            return y

    return Mod


def test_bounds_of_sizes_decide():
    changed = AdjustMatmulOrder()(_low_rank(32))
    first = changed["main"].body.blocks[0].bindings[0].value
    assert first.args[0] is changed["main"].params[0]
    assert_structural_equal(AdjustMatmulOrder()(_low_rank(100)), _low_rank(100))
