import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import RemoveStoreUndef

pytestmark = pytest.mark.pure


class TestStore(PassTest):
    run = RemoveStoreUndef()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((2,), "int32")):
        A[0] = T.undef()
        with T.LetStmt(T.undef()) as x:
            A[1] = x + 1
        A[1] = 3

    @T.prim_func
    def Expected(A: T.Buffer((2,), "int32")):
        A[1] = 3


class TestRejectsUndefinedConditions(PassTest):
    run = RemoveStoreUndef()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((2,), "int32")):
        if T.undef() == 3:
            A[0] = 1


class TestRejectsUndefinedPlaces(PassTest):
    run = RemoveStoreUndef()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((2,), "int32")):
        A[T.undef()] = 1


def test_rejects_a_load_at_an_undefined_place() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        A[0] = A[T.undef(dtype="int32")]

    with pytest.raises(TVMError, match="in an index"):
        RemoveStoreUndef()(IRModule.from_expr(func))
