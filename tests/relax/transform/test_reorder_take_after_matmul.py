from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest, run_interp
from tvm.relax.transform import ReorderTakeAfterMatmul
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestColumns(RelaxPassTest):
    run = ReorderTakeAfterMatmul()
    tolerance = 1e-4
    same_results = False  # indices have to be small

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([2, 3, 16], "float32"),
            table: R.Tensor([16, 32], "float32"),
            which: R.Tensor([5], "int64"),
        ):
            with R.dataflow():
                w = R.take(table, which, axis=1)
                out = R.matmul(x, w)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor([2, 3, 16], "float32"),
            table: R.Tensor([16, 32], "float32"),
            which: R.Tensor([5], "int64"),
        ):
            with R.dataflow():
                every = R.matmul(x, table)
                out = R.take(every, which, axis=2)
                R.output(out)
            return out


class TestRowsStay(RelaxPassTest):
    run = ReorderTakeAfterMatmul()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([3, 5], "float32"),
            table: R.Tensor([16, 32], "float32"),
            which: R.Tensor([5], "int64"),
        ):
            with R.dataflow():
                w = R.take(table, which, axis=0)
                out = R.matmul(x, w)
                R.output(out)
            return out

    Expected = Before


class TestTables(RelaxPassTest):
    """One table of many for each batch: the diagonal of the product with all of them."""

    run = ReorderTakeAfterMatmul()
    same_results = False  # indices have to be small

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor(["b", 2, 16], "float32"),
            table: R.Tensor(["n", 16, 32], "float32"),
            which: R.Tensor(["b"], "int64"),
        ):
            with R.dataflow():
                w = R.take(table, which, axis=0)
                out = R.matmul(x, w)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor(["b", 2, 16], "float32"),
            table: R.Tensor(["n", 16, 32], "float32"),
            which: R.Tensor(["b"], "int64"),
        ):
            b = T.int64()
            n = T.int64()
            with R.dataflow():
                lv = R.permute_dims(table, axes=[1, 0, 2])
                lv1 = R.reshape(lv, R.shape([16, n * 32]))
                lv2 = R.matmul(x, lv1)
                lv3 = R.reshape(lv2, R.shape([b, 2, n, 32]))
                lv4 = R.take(lv3, which, axis=2)
                out = R.einsum((lv4,), subscripts="ijik->ijk")
                R.output(out)
            return out

    def test_numbers(self):
        x, table = np.random.rand(5, 2, 16), np.random.rand(3, 16, 32)
        args = [x.astype("float32"), table.astype("float32"), np.array([2, 0, 1, 1, 0])]
        before, after = run_interp(type(self).Before, args), run_interp(self._after(), args)
        np.testing.assert_allclose(before, after, rtol=1e-5)


class TestKeepsOneBatchForAll(RelaxPassTest):
    """x is the same for every choice: there is no diagonal."""

    run = ReorderTakeAfterMatmul()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([1, 2, 16], "float32"),
            table: R.Tensor([3, 16, 32], "float32"),
            which: R.Tensor([5], "int64"),
        ):
            with R.dataflow():
                w = R.take(table, which, axis=0)
                out = R.matmul(x, w)
                R.output(out)
            return out

    Expected = Before
