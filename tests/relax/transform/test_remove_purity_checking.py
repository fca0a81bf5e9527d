"""RemovePurityChecking."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import RemovePurityChecking
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class TestPureCalls(RelaxPassTest):
    run = RemovePurityChecking()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_pure_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            z = R.add(y, x)
            return z

        @R.function(pure=False)
        def impure(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_pure_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"relax.force_pure": True})
            y = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            z = R.add(y, x)
            return z

        @R.function(pure=False)
        def impure(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            return y


class TestClosures(RelaxPassTest):
    run = RemovePurityChecking()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def helper(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
                   ) -> R.Tensor((4,), "float32"):
            z = R.add(x, y)
            return z

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            f = R.make_closure(Before.helper, (x,))
            z = R.invoke_pure_closure(f, (x,), sinfo_args=R.Tensor((4,), "float32"))
            return z

    def test_the_closure_is_invoked_plainly(self):
        call = self._after()["main"].body.blocks[0].bindings[1].value
        assert call.op.name == "relax.invoke_closure"
        assert len(call.sinfo_args) == 1


class TestLocalFunctions(RelaxPassTest):
    run = RemovePurityChecking()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                z = R.call_pure_packed("f", y, sinfo_args=R.Tensor((4,), "float32"))
                return z

            r = inner(x)
            return r

    def test_both_are_marked(self):
        main = self._after()["main"]
        inner = main.body.blocks[0].bindings[0].value
        assert main.attrs["relax.force_pure"]
        assert inner.attrs["relax.force_pure"]
        assert inner.body.blocks[0].bindings[0].value.op.global_symbol == "f"
