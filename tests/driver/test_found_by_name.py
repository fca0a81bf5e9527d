import importlib

import pytest

import tvm
from tvm.driver.found_by_name import FUNCTIONS
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_name_leads_to_a_function(name: str) -> None:
    module, _, attribute = FUNCTIONS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_a_pass_is_found_and_runs() -> None:
    @T.prim_func(private=True)
    def before(A: T.Buffer((4,), "int32")):
        A[T.int32(1) + 1] = 3 * 4

    @T.prim_func(private=True)
    def after(A: T.Buffer((4,), "int32")):
        A[2] = 12

    mod = tvm.get_global_func("tir.transform.Simplify")()(tvm.IRModule.from_expr(before))
    tvm.ir.assert_structural_equal(mod["main"], after)


def test_doors_of_packages() -> None:
    x, y = tvm.tir.Var("x", "int32"), tvm.tir.Var("y", "int32")
    assert tvm.tir.analysis._ffi_api.expr_deep_equal(x + y, x + y)
    assert tvm.arith._ffi_api.PosInf().name == "pos_inf"
    assert tvm.tir._ffi_api.Substitute(x + y, {x: y}).a.same_as(y)
    assert callable(tvm.tir.transform._ffi_api.LowerOpaqueBlock)
    assert callable(tvm.tir.schedule._ffi_api.HasBlock)
    with pytest.raises(AttributeError, match=r"script\.NoSuchName"):
        tvm.script._ffi_api.NoSuchName
