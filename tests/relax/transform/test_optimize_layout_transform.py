"""OptimizeLayoutTransform: layouts that cancel each other go."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tests.relax.transform.test_alter_op_impl import Add, Relu, add_2d, relu_padded
from tvm.ir import assert_structural_equal
from tvm.relax.transform import AlterOpImpl, DeadCodeElimination, OptimizeLayoutTransform
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def test_there_and_back() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((16,), "float32")):
            with R.dataflow():
                a = R.layout_transform(x, lambda i: (i // 4, i % 4))
                b = R.exp(a)
                c = R.layout_transform(b, lambda i, j: (i * 4 + j,))
                d = R.layout_transform(c, lambda i: (i // 4, i % 4))
                e = R.exp(d)
                gv = R.layout_transform(e, lambda i, j: (i * 4 + j,))
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((16,), "float32")):
            with R.dataflow():
                a = R.layout_transform(x, lambda i: (i // 4, i % 4))
                b = R.exp(a)
                e = R.exp(b)
                gv = R.layout_transform(e, lambda i, j: (i * 4 + j,))
                R.output(gv)
            return gv

    assert_structural_equal(OptimizeLayoutTransform()(Before), Expected)


def test_layouts_that_do_not_cancel_stay() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.layout_transform(x, lambda i, j: (i * 4 + j,))
                gv = R.layout_transform(a, lambda i: (i % 4, i // 4))
                R.output(gv)
            return gv

    assert OptimizeLayoutTransform()(Mod)["main"] is Mod["main"]


def test_padding_between_two_kernels_stays_where_it_is() -> None:
    split = lambda i: (i // 4, i % 4)
    altered = AlterOpImpl({"relax.relu": relu_padded}, {"relax.relu": [split] * 2}, {}, {})(Relu)
    after = DeadCodeElimination()(OptimizeLayoutTransform()(altered))
    assert after["main"].script().count("layout_transform") == 2
    assert after["main"].script().count("remove_pad") == 1
    x = np.random.default_rng(0).standard_normal(14).astype("float32")
    np.testing.assert_array_equal(run_interp(after, [x]), np.maximum(x, 0))


def test_two_kernels_of_one_layout_pass_it_on() -> None:
    split = lambda i: (i // 4, i % 4)
    altered = AlterOpImpl({"relax.add": add_2d}, {"relax.add": [split] * 3}, {}, {})(Add)
    assert OptimizeLayoutTransform()(altered)["main"].script().count("layout_transform") == 3
