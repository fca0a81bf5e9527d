import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform import Apply

pytestmark = pytest.mark.pure


def test_each_function():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        A[0] = 1

    mod = IRModule({"a": func, "b": func})
    marked = Apply(lambda f: f.with_attr("seen", True))(mod)
    assert all(f.attrs["seen"] for f in marked.functions.values())
