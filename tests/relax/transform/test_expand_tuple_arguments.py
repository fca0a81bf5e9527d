"""ExpandTupleArguments."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.relax.transform import ExpandTupleArguments
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class TestTuple(RelaxPassTest):
    run = ExpandTupleArguments()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def f(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),
              k: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            a = t[0]
            b = t[1]
            c = R.subtract(a, b)
            d = R.multiply(c, k)
            return d

        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            t = (x, y)
            r = Before.f(t, y)
            s = Before.f((y, r), x)
            return s

    def test_signature(self):
        after = self._after()
        assert [p.name_hint for p in after["f"].params] == ["t_0", "t_1", "k"]
        calls = [b.value for b in after["main"].body.blocks[0].bindings
                 if isinstance(b.value, relax.Call)]  # fmt: skip
        assert [len(call.args) for call in calls] == [3, 3]


class TestNested(RelaxPassTest):
    run = ExpandTupleArguments()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def f(t: R.Tuple(R.Tensor((4,), "float32"), R.Tuple(R.Tensor((4,), "float32")))
              ) -> R.Tensor((4,), "float32"):
            inner = t[1]
            a = inner[0]
            b = t[0]
            c = R.subtract(a, b)
            return c

        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tuple(R.Tensor((4,), "float32")))
                 ) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                r = Before.f(t)
                R.output(r)
            return r

    def test_signature(self):
        after = self._after()
        assert [p.name_hint for p in after["f"].params] == ["t_0", "t_1_0"]
        assert isinstance(after["main"].params[0].struct_info, relax.TupleStructInfo)


class TestResults(RelaxPassTest):
    """A tuple that an expanded function returns is a value of its own."""

    run = ExpandTupleArguments()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def func(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = R.exp(t[0])
            return (a, t[1])

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Before
            r = cls.func((x, x))
            return r

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def func(t_0: R.Tensor((4,), "float32"), t_1: R.Tensor((4,), "float32")):
            a = R.exp(t_0)
            whole = (a, t_1)
            return whole

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Expected
            r = cls.func(x, x)
            return r


def test_functions_without_tuples_stay():
    mod = ExpandTupleArguments()(TestTuple.Before)
    assert ExpandTupleArguments()(mod) is mod


def test_calls_of_functions_without_annotations_are_inferred_anew() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(a: R.Tensor((4,), "float32")):
            y = Mod.first((a, a))
            return y

        @R.function(private=True)
        def first(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            b = t[0]
            return b

    func = ExpandTupleArguments()(Mod)["main"]
    assert str(func.ret_struct_info) == 'R.Tensor((4,), dtype="float32")'
