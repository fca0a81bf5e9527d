import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform import Filter

pytestmark = pytest.mark.pure


def test_keeps_chosen_functions():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        A[0] = 1

    mod = IRModule({"a": func, "b": func.with_attr("keep", True)})
    kept = Filter(lambda f: f.attrs.get("keep") is not None)(mod)
    assert [v.name_hint for v in kept.get_global_vars()] == ["b"]
