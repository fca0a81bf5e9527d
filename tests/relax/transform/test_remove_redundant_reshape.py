from __future__ import annotations

import pytest

from tvm.ir import assert_structural_equal
from tvm.relax.transform import RemoveRedundantReshape
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_the_last_of_several_stays() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 1001, 1, 1), "float32")) -> R.Tensor((1, 1001), "float32"):
            with R.dataflow():
                lv = R.reshape(x, (1, 1001))
                lv1 = R.reshape(lv, (1001, 1))
                lv2 = R.reshape(lv1, (1, 1001))
                R.output(lv2)
            return lv2

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 1001, 1, 1), "float32")) -> R.Tensor((1, 1001), "float32"):
            with R.dataflow():
                lv2 = R.reshape(x, (1, 1001))
                R.output(lv2)
            return lv2

    assert_structural_equal(RemoveRedundantReshape()(Before), Expected)


def test_the_same_shape() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            n = T.int64()
            with R.dataflow():
                lv = R.reshape(x, (n, 4))
                gv = R.add(lv, lv)
                R.output(gv)
            return gv

    after = RemoveRedundantReshape()(Before)
    assert "reshape" not in after.script()


def test_there_and_back() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                lv = R.reshape(x, (6,))
                lv1 = R.reshape(lv, (2, 3))
                gv = R.add(lv1, x)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                gv = R.add(x, x)
                R.output(gv)
            return gv

    assert_structural_equal(RemoveRedundantReshape()(Before), Expected)


def test_one_that_matters_stays() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                lv = R.reshape(x, (6,))
                gv = R.exp(lv)
                R.output(gv)
            return gv

    assert RemoveRedundantReshape()(Before)["main"] is Before["main"]


def test_nothing_is_left_of_a_function_that_only_reshapes_to_the_same() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                lv = R.reshape(x, (2, 3))
                R.output(lv)
            return lv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            return x

    assert_structural_equal(RemoveRedundantReshape()(Before), Expected)
