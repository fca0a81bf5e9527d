"""Other global variables: tested with the pass that renames; here what is odd."""

import pytest

from tvm.ir import GlobalVar
from tvm.relax.transform.rename_globals import with_global_vars
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            r = Mod.f(x)
        else:
            r = x
        return r


def test_mentions_in_branches():
    new = GlobalVar("g")
    new.struct_info_ = Mod.get_global_var("f").struct_info_
    after = with_global_vars(Mod, {Mod.get_global_var("f"): new})
    branch = after["main"].body.blocks[0].bindings[0].value.true_branch
    assert branch.blocks[0].bindings[0].value.op is new
    assert after[new] is Mod["f"]


def test_nothing_renamed_is_the_same_functions():
    after = with_global_vars(Mod, {})
    assert after["main"] is Mod["main"]
