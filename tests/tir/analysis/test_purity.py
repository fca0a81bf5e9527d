"""Pure functions."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.script import tir as T
from tvm.tir.analysis import assert_pure_function, is_pure_function

pytestmark = pytest.mark.pure


@T.prim_func
def pure(A: T.Buffer((16,), "float32")) -> T.float32:
    total = T.decl_buffer((1,), "float32")
    for i in range(16):
        total[0] = total[0] + A[i]
    T.ret(total[0])


@T.prim_func
def calls() -> None:
    T.evaluate(T.call_packed("print", 1))


def test_purity() -> None:
    assert is_pure_function(pure)
    assert assert_pure_function(pure)
    assert not is_pure_function(matmul)
    assert not is_pure_function(calls)
    with pytest.raises(AssertionError, match="writes to C, which it did not allocate"):
        assert_pure_function(matmul)
    with pytest.raises(AssertionError, match="tvm_call_packed, which may change state"):
        assert_pure_function(calls)
