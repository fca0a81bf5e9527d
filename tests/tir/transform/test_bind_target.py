import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform import BindTarget

pytestmark = pytest.mark.pure


@T.prim_func
def func(A: T.Buffer((4,), "int32")):
    A[0] = 1


def test_each_function_without_a_target():
    own = Target("llvm -mcpu=skylake")
    mod = BindTarget("llvm")(IRModule({"a": func, "b": func.with_attr("target", own)}))
    assert mod["a"].attrs["target"] == Target("llvm")
    assert mod["b"].attrs["target"] is own


def test_host_functions_get_the_host():
    mod = IRModule({"a": func.with_attr("tir.is_host_func", True)})
    bound = BindTarget(Target("cuda", host="llvm"))(mod)["a"]
    assert bound.attrs["target"].kind.name == "llvm"
    assert bound.attrs.get("tir.is_host_func") is None
