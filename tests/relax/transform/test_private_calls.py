"""Which functions may change their signature."""

import pytest

from tvm.relax.transform.private_calls import private_functions
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function(private=True)
    def called(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function(private=True)
    def held(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
             ) -> R.Tensor((4,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        f = R.make_closure(Mod.held, (x,))
        y = R.invoke_pure_closure(f, (x,), sinfo_args=R.Tensor((4,), "float32"))
        z = Mod.called(y)
        return z


def test_only_private_functions_that_are_no_values():
    assert [var.name_hint for var in private_functions(Mod)] == ["called"]
