import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.tir.transform.direct_api import direct_calls, direct_form, direct_params

pytestmark = pytest.mark.pure


@T.prim_func(private=True)
def part(a: T.handle, k: T.int32, c: T.handle):
    n, m, s = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), strides=(s, 1))
    C = T.match_buffer(c, (m, k))
    C[0, 0] = A[1, 0]


def test_sizes_follow_the_parameters():
    assert [p.name for p in direct_params(part)][1:2] == ["k"]
    assert [p.name for p in direct_params(part)][3:] == ["n", "m"]


def test_tensors_are_dense():
    func = direct_form(part)
    assert not func.buffer_map
    load = func.body.block.body.value if hasattr(func.body, "block") else func.body.value
    assert load.buffer.strides[0] is direct_params(part)[4]


def test_a_size_that_no_argument_has():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(p: T.handle("float32")):
            Module.inner(p)

        @T.prim_func(private=True)
        def inner(a: T.handle):
            n = T.int32()
            A = T.match_buffer(a, (n,))
            A[0] = 1.0

    mod: IRModule = Module
    with pytest.raises(TVMError, match="size n follows from none of the arguments"):
        direct_calls(mod["main"], mod)
