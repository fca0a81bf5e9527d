"""RemoveUnusedParameters."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import RemoveUnusedParameters
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestUnread(RelaxPassTest):
    run = RemoveUnusedParameters()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def f(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32"),
              z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            r = R.subtract(z, x)
            return r

        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            a = R.exp(x)
            r = Before.f(a, y, x)
            return r

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def f(x: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")
              ) -> R.Tensor((4,), "float32"):
            r = R.subtract(z, x)
            return r

        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            a = R.exp(x)
            r = Expected.f(a, x)
            return r


class TestSizesOfDroppedTensors(RelaxPassTest):
    run = RemoveUnusedParameters()
    sizes = {"n": 3, "m": 5}

    @I.ir_module
    class Before:
        @R.function(private=True)
        def f(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n",), "float32"),
              z: R.Tensor(("n * 2",), "float32")) -> R.Tensor(("m", "n"), "float32"):
            n = T.int64()
            m = T.int64()
            r = R.zeros(R.shape([m, n]), "float32")
            s = R.add(r, R.sum(z))
            return s

        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("m", "n"), "float32"):
            n = T.int64()
            m = T.int64()
            y = R.zeros(R.shape([n]), "float32")
            z = R.zeros(R.shape([n * 2]), "float32")
            r = Before.f(x, y, z)
            return r

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def f(z: R.Tensor(("n * 2",), "float32"), param_m: R.Prim(value="m"),
              param_n: R.Prim(value="n")) -> R.Tensor(("m", "n"), "float32"):
            n = T.int64()
            m = T.int64()
            r = R.zeros(R.shape([m, n]), "float32")
            s = R.add(r, R.sum(z))
            return s

        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("m", "n"), "float32"):
            n = T.int64()
            m = T.int64()
            z = R.zeros(R.shape([n * 2]), "float32")
            r = Expected.f(z, R.prim_value(m), R.prim_value(n))
            return r


class TestATensorStaysWhereACallerDoesNotKnowItsSize(RelaxPassTest):
    run = RemoveUnusedParameters()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(private=True)
        def f(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")
              ) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            r = R.zeros(R.shape([n]), "float32")
            return r

        @R.function
        def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
            r: R.Tensor(ndim=1, dtype="float32") = Before.f(x, x)
            return r

    def test_one_is_left(self):
        assert len(self._after()["f"].params) == 1


class TestPublicFunctionsStay(RelaxPassTest):
    run = RemoveUnusedParameters()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            return x

    Expected = Before


class TestWhatNobodyUsesGoesFromAllFunctions(RelaxPassTest):
    run = RemoveUnusedParameters()

    @I.ir_module
    class Before:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = R.exp(t[1])
            c = Before.f(a, b)
            return c

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            unused = R.exp(x)
            return x

        @R.function(private=True)
        def f(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            return x

    @I.ir_module
    class Expected:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            c = Expected.f(a)
            return c

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            return x

        @R.function(private=True)
        def f(x: R.Tensor((4,), "float32")):
            return x
