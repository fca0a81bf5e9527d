from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import ReorderPermuteDimsAfterConcat
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class TestTurnedAlike(RelaxPassTest):
    run = ReorderPermuteDimsAfterConcat()

    @I.ir_module
    class Before:
        @R.function
        def main(a: R.Tensor([4, 3], "float32"), b: R.Tensor([5, 3], "float32")):
            with R.dataflow():
                at = R.permute_dims(a, axes=[1, 0])
                bt = R.permute_dims(b, axes=[1, 0])
                out = R.concat([at, bt], axis=1)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(a: R.Tensor([4, 3], "float32"), b: R.Tensor([5, 3], "float32")):
            with R.dataflow():
                both = R.concat([a, b], axis=0)
                out = R.permute_dims(both, axes=[1, 0])
                R.output(out)
            return out


class TestWithoutAxes(RelaxPassTest):
    run = ReorderPermuteDimsAfterConcat()

    @I.ir_module
    class Before:
        @R.function
        def main(
            a: R.Tensor([4, 3, 2], "float32"),
            b: R.Tensor([5, 3, 2], "float32"),
            c: R.Tensor([1, 3, 2], "float32"),
        ):
            with R.dataflow():
                at = R.permute_dims(a)
                bt = R.permute_dims(b)
                ct = R.permute_dims(c)
                out = R.concat([at, bt, ct], axis=-1)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            a: R.Tensor([4, 3, 2], "float32"),
            b: R.Tensor([5, 3, 2], "float32"),
            c: R.Tensor([1, 3, 2], "float32"),
        ):
            with R.dataflow():
                every = R.concat([a, b, c], axis=0)
                out = R.permute_dims(every)
                R.output(out)
            return out


class TestTurnedDifferently(RelaxPassTest):
    run = ReorderPermuteDimsAfterConcat()

    @I.ir_module
    class Before:
        @R.function
        def main(a: R.Tensor([4, 4, 4], "float32"), b: R.Tensor([4, 4, 4], "float32")):
            with R.dataflow():
                at = R.permute_dims(a, axes=[1, 0, 2])
                bt = R.permute_dims(b, axes=[0, 2, 1])
                out = R.concat([at, bt], axis=1)
                R.output(out)
            return out

    Expected = Before
