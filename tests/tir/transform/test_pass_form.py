import inspect

import pytest

import tvm
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform import PrimFuncPass, Simplify, VectorizeLoop, prim_func_pass
from tvm.tir.transform.pass_form import tir_pass

pytestmark = pytest.mark.pure


@T.prim_func
def func(A: T.Buffer((4,), "float32")):
    A[0] = 1.0


@tir_pass("tir.TestMark", opt_level=1)
def mark(func, mod, ctx, *, value=1):
    return func.with_attr("mark", value)


def test_the_house_form():
    made = mark(value=3)
    assert isinstance(made, PrimFuncPass)
    assert (made.info.name, made.info.opt_level) == ("tir.TestMark", 1)
    assert made(IRModule({"f": func}))["f"].attrs["mark"] == 3


def test_signatures_show_the_options_only():
    assert list(inspect.signature(VectorizeLoop).parameters) == ["enable_vectorize"]
    assert list(inspect.signature(Simplify).parameters) == []


def test_users_own_passes():
    @prim_func_pass(opt_level=2)
    def transform(func, mod, ctx):
        return func.with_attr("seen", True)

    assert (transform.info.opt_level, transform.info.name) == (2, "transform")
    assert transform(IRModule({"f": func}))["f"].attrs["seen"]

    @tvm.tir.transform.prim_func_pass(opt_level=1)
    class Replace:
        def __init__(self, new):
            self.new = new

        def transform_function(self, func, mod, ctx):
            return self.new

    other = func.with_attr("other", 1)
    assert Replace(other)(IRModule({"f": func}))["f"] is other


def test_a_pass_may_remove_a_function():
    assert len(mark_none()(IRModule({"f": func}))) == 0


@tir_pass("tir.TestRemove")
def mark_none(func, mod, ctx):
    return None


def test_rejects():
    with pytest.raises(ValueError, match="opt_level"):
        prim_func_pass(lambda f, m, c: f)
    wrong = prim_func_pass(lambda f, m, c: 3, opt_level=0, name="wrong")
    with pytest.raises(TVMError, match="pass 'wrong' returned int"):
        wrong(IRModule({"f": func}))
