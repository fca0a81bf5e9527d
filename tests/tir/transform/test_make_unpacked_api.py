import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform import MakeUnpackedAPI

pytestmark = pytest.mark.pure


def test_plain_parameters():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), n: T.int32):
        A[0] = n

    made = MakeUnpackedAPI()(IRModule.from_expr(func))["func"]
    assert [str(p.dtype) for p in made.params] == ["handle", "int32"]
    assert made.params[0] is func.buffer_map[func.params[0]].data
    assert not made.buffer_map


def test_rejects_sizes_that_are_no_parameters():
    @T.prim_func
    def func(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        A[0] = 1.0

    with pytest.raises(TVMError, match="size n is no parameter"):
        MakeUnpackedAPI()(IRModule.from_expr(func))
