"""RemoveUnusedOutputs: private functions return what is read."""

from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.ir import assert_structural_equal
from tvm.relax.transform import RemoveUnusedOutputs
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def test_callers_have_what_the_callee_gives():
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def func() -> R.Tuple(R.Tensor((16, 16), "int32"), R.Tensor((32, 32), "int32")):
            a = R.zeros(R.shape([16, 16]), "int32")
            b = R.zeros(R.shape([32, 32]), "int32")
            return (a, b)

        @R.function
        def main() -> R.Tensor:
            cls = Mod
            t = cls.func()
            a: R.Tensor = t[0]
            return a

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def func() -> R.Tensor((16, 16), "int32"):
            a = R.zeros(R.shape([16, 16]), "int32")
            return a

        @R.function
        def main() -> R.Tensor((16, 16), "int32"):
            cls = Expected
            a = cls.func()
            return a

    assert_structural_equal(RemoveUnusedOutputs()(Mod), Expected)


class TestOneField(RelaxPassTest):
    run = RemoveUnusedOutputs()

    @I.ir_module
    class Before:
        @R.function
        def main() -> R.Tensor([], "int32"):
            res = Before.func()
            A = res[0]
            return A

        @R.function(private=True)
        def func() -> R.Tuple([R.Tensor([], "int32"), R.Tensor([], "int32")]):
            A = R.add(R.const(42, "int32"), R.const(1, "int32"))
            B = R.add(R.const(43, "int32"), R.const(1, "int32"))
            return (A, B)

    @I.ir_module
    class Expected:
        @R.function
        def main() -> R.Tensor([], "int32"):
            A = Expected.func()
            return A

        @R.function(private=True)
        def func() -> R.Tensor([], "int32"):
            A = R.add(R.const(42, "int32"), R.const(1, "int32"))
            return A


class TestSeveralFieldsAndCallers(RelaxPassTest):
    run = RemoveUnusedOutputs()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([4], "int32")):
            res = Before.func(x)
            A = res[0]
            return A

        @R.function
        def other(x: R.Tensor([4], "int32")):
            res = Before.func(x)
            C = res[2]
            D = R.add(C, C)
            return D

        @R.function(private=True)
        def func(x: R.Tensor([4], "int32")) -> R.Tuple(
            R.Tensor([4], "int32"), R.Tensor([4], "int32"), R.Tensor([4], "int32")
        ):
            A = R.add(x, x)
            B = R.multiply(x, x)
            C = R.subtract(x, x)
            return (A, B, C)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor([4], "int32")):
            res = Expected.func(x)
            A = res[0]
            return A

        @R.function
        def other(x: R.Tensor([4], "int32")):
            res = Expected.func(x)
            C = res[1]
            D = R.add(C, C)
            return D

        @R.function(private=True)
        def func(x: R.Tensor([4], "int32")) -> R.Tuple(
            R.Tensor([4], "int32"), R.Tensor([4], "int32")
        ):
            A = R.add(x, x)
            C = R.subtract(x, x)
            return (A, C)


class TestWholeTuplesStay(RelaxPassTest):
    run = RemoveUnusedOutputs()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([4], "int32")):
            res = Before.func(x)
            return res

        @R.function(private=True)
        def func(x: R.Tensor([4], "int32")) -> R.Tuple(
            R.Tensor([4], "int32"), R.Tensor([4], "int32")
        ):
            A = R.add(x, x)
            B = R.multiply(x, x)
            return (A, B)

    Expected = Before


def test_what_has_no_private_function_is_tidied_too():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = x
            z = R.exp(x)
            t = (y, z)
            return t[0]

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return x

    assert_structural_equal(RemoveUnusedOutputs()(Before), Expected)


class TestNestedFieldAndBranches(RelaxPassTest):
    """Items stand behind the call; a field that is no variable is read from the old result."""

    run = RemoveUnusedOutputs()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def func(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.log(x)
            return (x, (a, b), b)

        @R.function
        def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
            cls = Before
            r = cls.func(x)
            y = R.sin(x)
            if c:
                pair = r[1]
                z = R.add(y, pair[0])
            else:
                z = r[2]
            return z

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def func(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.log(x)
            previous_outputs = (x, (a, b), b)
            pair = previous_outputs[1]
            return (pair, b)

        @R.function
        def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
            cls = Expected
            r = cls.func(x)
            pair = r[0]
            last = r[1]
            y = R.sin(x)
            if c:
                first = pair[0]
                z = R.add(y, first)
            else:
                z = last
            return z
