from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import ReorderTakeAfterMatmul
from tvm.script import ir as I
from tvm.script import relax as R

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
